package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// row is the JavaScript that finds an applier by its name.
func row(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#appliers > li")].find((li) => li.querySelector("h3").textContent.trim() === %q)`, name)
}

func TestAChangeIsSeenWithoutALoad(t *testing.T) {
	h := serve(t, fleet(t)...)
	b := open(t, h, "/")
	b.live()
	get[int](b, `window.loadedOnce = 1`)
	h.change("team-docs", "docs", apply(commit))
	b.await("the operation", row("team-docs/docs")+`.textContent.includes("Applying commit 012345678, which publishes captured edits")`)
	b.await("the count", `document.querySelector('[data-count="moving"]').textContent === "6"`)
	b.await("that it is said", `said.textContent === "team-docs/docs: Applying."`)
	if get[int](b, `window.loadedOnce || 0`) != 1 {
		t.Error("the page was loaded anew")
	}
	if at := get[int](b, `[...appliers.children].indexOf(`+row("team-docs/docs")+`)`); at != 6 { // 5 need attention; platform/dns is before it
		t.Errorf("what is under way now is shown at place %d", at)
	}
	h.lead(false)
	b.await("who leads", `leading.textContent.startsWith("This holder stands by")`)
	if err := h.client.Delete(t.Context(), &v1alpha1.FluxTrigger{ObjectMeta: fleet(t)[0].ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	h.changed()
	b.await("that one is gone", `!`+row("team-shop/shop")+` && shown.textContent === "14 of 14 shown"`)
}

func TestWhatAPersonOpenedAndWhereTheyAreStaysAsItIs(t *testing.T) {
	h := serve(t, fleet(t)...)
	b := open(t, h, "/")
	b.live()
	get[bool](b, `(() => {
		const li = `+row("team-shop/checkout")+`;
		li.querySelector("summary").click();                       // opens what was closed
		li.querySelector(".history > summary").click();
		li.querySelector(".history > summary").focus();
		`+row("team-shop/shop")+`.querySelector("summary").click(); // closes what was open
		return true;
	})()`)
	h.change("team-shop", "checkout", apply(commit))
	h.change("team-shop", "shop", func(f *v1alpha1.FluxTrigger) { f.Status.Operation.Message = "another message" })
	b.await("both changes", row("team-shop/checkout")+`.textContent.includes("012345678") && `+row("team-shop/shop")+`.textContent.includes("another message")`)
	got := get[string](b, `(() => {
		const checkout = `+row("team-shop/checkout")+`, shop = `+row("team-shop/shop")+`;
		const open = (d) => d.open ? "open" : "closed";
		return [open(checkout.querySelector("details")), open(checkout.querySelector(".history")), open(checkout.querySelector(".facts")),
			open(shop.querySelector("details")), document.activeElement === checkout.querySelector(".history > summary")].join(" ");
	})()`)
	if got != "open open closed closed true" {
		t.Errorf("checkout, its history, its details, shop, focus: got %s", got)
	}
}

func TestTheConnectionIsLostAndFoundAgain(t *testing.T) {
	h := serve(t, fleet(t)...)
	b := open(t, h, "/")
	b.tolerate = "/status/events" // the browser tells of every attempt that fails
	b.live()
	h.stop()
	b.await("that it is lost", `!lost.hidden && lost.textContent.includes("connection to the holder is lost") && live.dataset.how === "lost"`)
	if text := get[string](b, `lost.textContent + document.getElementById("live-text").textContent`); strings.Count(text, "as of 2026-03-01 12:") != 2 {
		t.Errorf("it does not say how old it is: %s", text)
	}
	if n := get[int](b, `[...appliers.children].filter((li) => !li.hidden).length`); n != 15 {
		t.Errorf("%d appliers are still shown", n)
	}
	b.shot("lost")
	h.change("team-docs", "docs", apply(commit)) // while nobody could be told
	h.start()
	b.await("that it is found", `lost.hidden && live.dataset.how === "on"`)
	b.await("what changed meanwhile", row("team-docs/docs")+`.textContent.includes("012345678")`)
	b.await("that it is said", `said.textContent !== ""`)
}

func TestAPageNobodyLooksAtHoldsNoStreamOpen(t *testing.T) {
	h := serve(t, fleet(t)...)
	b := open(t, h, "/")
	b.live()
	look := func(hidden bool) {
		get[bool](b, fmt.Sprintf(`(() => {
			Object.defineProperty(document, "hidden", { configurable: true, get: () => %t });
			return document.dispatchEvent(new Event("visibilitychange"));
		})()`, hidden))
	}
	streams := func(want int32) {
		t.Helper()
		end := time.Now().Add(20 * time.Second) // the server learns from the connection that the page has gone
		for h.streams.Load() != want {
			if time.Now().After(end) {
				t.Fatalf("%d streams are open, want %d", h.streams.Load(), want)
			}
			get[bool](b, `new Promise((done) => setTimeout(() => done(true), 20))`)
		}
	}
	streams(1)
	look(true)
	streams(0)
	h.change("team-docs", "docs", apply(commit))
	look(false)
	b.await("what changed meanwhile", row("team-docs/docs")+`.textContent.includes("012345678")`)
	streams(1)
}

func TestNamesAndMessagesAreText(t *testing.T) {
	h := serve(t, append(fleet(t), hostile())...)
	b := open(t, h, "/?q=%22%3E%3Cscript%3Ewindow.harmed%3D4%3C/script%3E")
	b.live()
	get[string](b, `(q.value = "hostile", q.dispatchEvent(new Event("input")), "")`)
	h.change("team", "hostile", func(f *v1alpha1.FluxTrigger) { f.Status.Holder += "again" }) // by the other way into the page
	b.await("the change", `document.querySelector("#appliers > li:not([hidden])").textContent.includes("again")`)
	get[int](b, `document.querySelectorAll("#appliers > li:not([hidden]) details").forEach((d) => { d.open = true; }) || 0`)
	got := get[string](b, `(() => {
		const li = document.querySelector("#appliers > li:not([hidden])");
		return [window.harmed === undefined, document.scripts.length, li.querySelectorAll("img, script, a").length,
			li.querySelector("h3").textContent.includes("<img src=x onerror"), /[\u202e\u2066]/.test(document.body.textContent),
			li.textContent.includes("\\u202eexe.gnp\\u2066"), document.documentElement.scrollWidth <= innerWidth].join(" ");
	})()`)
	if want := "true 1 0 true false true true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.shot("hostile")
}

func TestFiveHundredAppliersAreSearchedWhileOneTypes(t *testing.T) {
	h := serve(t, many(t, 500)...)
	b := open(t, h, "/")
	b.live()
	typed := func(text string) float64 {
		return get[float64](b, `(() => {
			const begin = performance.now();
			q.value = "`+text+`";
			q.dispatchEvent(new Event("input"));
			appliers.offsetHeight; // the page is laid out
			return performance.now() - begin;
		})()`)
	}
	took := max(typed("team-pay"), typed(""), typed("team-pay payments-"))
	if text := get[string](b, `shown.textContent`); text != "34 of 500 shown" {
		t.Errorf("it says %q", text)
	}
	if took > 500 {
		t.Errorf("a letter takes %.0f ms", took) // 20 on an idle machine, and ten times that on a busy one
	}
	t.Logf("one letter among 500 appliers: at most %.1f ms", took)
	h.change("team-pay", "payments-003", apply(commit))
	b.await("a change among many", row("team-pay/payments-003")+`.textContent.includes("012345678")`)
}

func TestFiltersAreInTheAddress(t *testing.T) {
	h := serve(t, fleet(t)...)
	b := open(t, h, "/")
	b.live()
	b.run(chromedp.Click(`[data-show="held"]`), chromedp.SendKeys("#q", "shop"))
	b.await("what fits", `shown.textContent === "1 of 15 shown" && location.search === "?q=shop&show=held"`)
	b.run(chromedp.Reload())
	b.await("the same after a load", `shown.textContent === "1 of 15 shown" && q.value === "shop" && document.querySelector('[aria-current]').dataset.show === "held"`)
	b.live()
	h.change("team-shop", "checkout", apply(commit))
	b.await("that what fits no longer goes", `shown.textContent === "0 of 15 shown" && !none.hidden`)
}

func TestWithoutJavaScriptThePageIsWhole(t *testing.T) {
	h := serve(t, fleet(t)...)
	b := open(t, h, "/", call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.run(chromedp.WaitVisible("noscript p"), chromedp.WaitVisible("form button"))
	text := b.text("body")
	for _, want := range []string{"Updated 2026-03-01 12:", "5\nNeed attention", "The last apply failed, of commit", "OPERATION UNDER WAY", "15 of 15 shown"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the page: %s", want, text)
		}
	}
	b.run(chromedp.Click(`[data-show="held"]`), chromedp.WaitVisible(`[data-show="held"][aria-current]`),
		chromedp.SendKeys("#q", "shop"), chromedp.Click("form button"), chromedp.WaitVisible(`#q[value="shop"]`))
	if shown := b.text("#shown"); shown != "1 of 15 shown" {
		t.Errorf("a search leaves %s", shown)
	}
	b.shot("no-javascript")
}

func TestAHolderWithoutTriggersSaysSo(t *testing.T) {
	b := open(t, serve(t), "/")
	b.live()
	if text := get[string](b, `none.hidden ? "" : none.textContent`); text != "There is no FluxTrigger, so nothing is held." {
		t.Errorf("it says %q", text)
	}
}
