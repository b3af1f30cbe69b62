package page

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// contrast is the JavaScript that returns the least contrast of any text on the page, with where it is.
const contrast = `(() => {
	const rgb = (text) => { const m = text.match(/[\d.]+/g).map(Number); return { c: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
	const light = ({ c }) => { const [r, g, b] = c.map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const ground = (el) => { for (; el; el = el.parentElement) { const b = rgb(getComputedStyle(el).backgroundColor); if (b.a === 1) return b; if (b.a > 0) throw new Error("half transparent: " + el.outerHTML.slice(0, 200)); } return { c: [255, 255, 255] }; };
	let least = 99, where = "", seen = 0;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode());) {
		const el = n.parentElement;
		if (!n.data.trim() || !el.checkVisibility({ contentVisibilityAuto: false }) || ["SCRIPT", "NOSCRIPT"].includes(el.tagName)) continue;
		seen++;
		const a = light(rgb(getComputedStyle(el).color)), b = light(ground(el)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < least) { least = ratio; where = el.tagName + "." + el.className + " in " + el.closest("[data-state], [data-how], section, header, search, footer, li")?.outerHTML.slice(0, 120) + ": " + n.data.trim(); }
	}
	const p = getComputedStyle(q, "::placeholder"), a = light(rgb(p.color)), b = light(ground(q)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
	if (ratio < least) { least = ratio; where = "the placeholder"; }
	return { least, where, seen };
})()`

const openAll = `document.querySelectorAll("details").forEach((d) => { d.open = true; }) || 0`

func TestEveryTextIsReadableInBothSchemes(t *testing.T) {
	h := serve(t, fleet(t)...)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			b := open(t, h, "/", media("prefers-color-scheme", scheme))
			b.live()
			get[int](b, openAll)
			get[string](b, `(lost.hidden = none.hidden = false, lost.textContent = none.textContent = "seen for its colours", "")`)
			got := get[struct {
				Least float64
				Where string
				Seen  int
			}](b, contrast)
			t.Logf("the least contrast of %d texts is %.2f: %s", got.Seen, got.Least, got.Where)
			if got.Least < 4.5 || got.Seen < 400 {
				t.Errorf("a contrast of %.2f at %s, of %d texts", got.Least, got.Where, got.Seen)
			}
			if back := get[string](b, `getComputedStyle(document.body).backgroundColor`); (back == "rgb(18, 22, 25)") != (scheme == "dark") {
				t.Errorf("the ground is %s", back)
			}
			b.shot(scheme + "-open")
		})
	}
}

func TestItFitsEveryWidth(t *testing.T) {
	h := serve(t, append(fleet(t), hostile())...)
	for _, width := range []int64{320, 390, 768, 1024, 1280, 1920} {
		b := open(t, h, "/", chromedp.EmulateViewport(width, 900))
		b.live()
		get[int](b, openAll)
		got := get[[]string](b, `[...document.querySelectorAll("body *")].filter((el) => el.getBoundingClientRect().right > innerWidth + 1 && !el.closest(".message, .unseen, .skip"))
			.map((el) => el.tagName + "." + el.className)`)
		if over := get[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 || len(got) > 0 {
			t.Errorf("at %d it is %d too wide: %q", width, over, got)
		}
		if width == 390 {
			b.shot("narrow-open")
		}
	}
	b := open(t, serve(t, fleet(t)...), "/", chromedp.EmulateViewport(390, 900), media("prefers-color-scheme", "dark"))
	b.live()
	b.shot("narrow-dark")
}

// where is the JavaScript that says which element has the focus, and how one sees that.
const where = `(() => {
	const el = document.activeElement, s = getComputedStyle(el), r = el.getBoundingClientRect();
	const name = el.id || el.dataset.show || (el.closest("li[data-search]") ? el.closest("li").querySelector("h3").textContent + " " + (el.closest("[data-key]")?.dataset.key || "row") : el.textContent.trim());
	const seen = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.bottom > 0 && r.top < innerHeight && r.width > 0;
	return name + (seen ? "" : " UNSEEN");
})()`

func TestEverythingIsReachedByKeyboardAndTheFocusIsSeen(t *testing.T) {
	h := serve(t, fleet(t)[:3]...)
	b := open(t, h, "/")
	b.live()
	var stops []string
	for range 30 {
		b.run(chromedp.KeyEvent(kb.Tab))
		if get[bool](b, `document.activeElement === document.body`) {
			break // round
		}
		stops = append(stops, get[string](b, where))
	}
	want := []string{
		"Skip to the appliers", "attention", "moving", "held", "nothold", "all", "q",
		"team-shop/shop row", "team-shop/shop history", "team-shop/shop facts", "team-shop/checkout row", "team-web/web row", "/status",
	}
	if !slices.Equal(stops, want) {
		t.Errorf("got  %q\nwant %q", stops, want)
	}

	b.run(chromedp.Focus(".skip"), chromedp.KeyEvent(kb.Enter))
	b.await("the skip link leads to the list", `document.activeElement === appliers`)
	b.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.await("a key closes what is open", `!`+row("team-shop/shop")+`.querySelector("details").open`)
	b.run(chromedp.KeyEvent(kb.Enter))
	b.await("and opens it", row("team-shop/shop")+`.querySelector("details").open`)
	b.run(chromedp.Focus(`[data-show="nothold"]`), chromedp.KeyEvent(kb.Enter))
	b.await("a filter is chosen", `shown.textContent === "1 of 3 shown" && document.activeElement.dataset.show === "nothold"`)
	b.shot("focus")
}

func TestProgramsThatReadAloudFindTheirWay(t *testing.T) {
	b := open(t, serve(t, fleet(t)...), "/")
	b.live()
	for what, expression := range map[string]string{
		"one banner, search, main and footer": `["header", "search", "main", "footer"].every((n) => document.querySelectorAll("body > " + n).length === 1)`,
		"the navigation has a name":           `document.querySelector("nav").getAttribute("aria-label") === "Show"`,
		"one h1, and no level is left out":    `[...document.querySelectorAll("h1,h2,h3,h4")].map((h) => +h.tagName[1]).every((l, i, all) => i ? l <= all[i - 1] + 1 : l === 1) && document.querySelectorAll("h1").length === 1`,
		"the field has a label":               `q.labels.length === 1`,
		"changes are said politely":           `said.getAttribute("aria-live") === "polite" && lost.getAttribute("role") === "status" && shown.getAttribute("role") === "status"`,
		"what ticks is in no live region":     `!live.closest("[aria-live], [role=status], [role=alert]")`,
		"the language is known":               `document.documentElement.lang === "en"`,
		"no id is there twice":                `new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size === document.querySelectorAll("[id]").length`,
		"colour is never alone":               `[...document.querySelectorAll(".badge, .flag, .stages li")].every((e) => e.textContent.trim() !== "")`,
		"pictures need no words":              `[...document.images].every((i) => i.alt === "")`,
	} {
		if !get[bool](b, expression) {
			t.Errorf("not so: %s", what)
		}
	}
}

func TestNothingMovesForWhoeverWantsThat(t *testing.T) {
	h := serve(t, fleet(t)...)
	for _, row := range []struct{ wish, want string }{{"reduce", "none"}, {"no-preference", "breathe"}} {
		b := open(t, h, "/", media("prefers-reduced-motion", row.wish))
		b.live()
		if got := get[string](b, `getComputedStyle(document.querySelector('.stages li[data-how="now"]'), "::after").animationName`); got != row.want {
			t.Errorf("%s: the animation is %s", row.wish, got)
		}
	}
}

func TestThePolicyRefusesWhatIsNotOurs(t *testing.T) {
	b := open(t, serve(t, fleet(t)...), "/")
	b.live()
	for what, try := range map[string]string{
		"a script in the page": `(() => { const s = document.createElement("script"); try { s.textContent = "window.harmed = 1"; } catch { return "refused"; } document.body.append(s); return window.harmed ? "ran" : "refused"; })()`,
		"HTML from a string":   `(() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return "took"; } catch { return "refused"; } })()`,
		"evaluation":           `(() => { try { return setTimeout("window.harmed = 1") && "took"; } catch { return "refused"; } })()`,
		"another server":       `fetch("http://127.0.0.1:1/").then(() => "asked", () => "refused")`,
		"a cookie of ours":     `document.cookie === "" ? "refused" : document.cookie`,
	} {
		if got := get[string](b, try); got != "refused" {
			t.Errorf("%s: %s", what, got)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) < 3 {
		t.Errorf("the browser told of %d refusals only: %q", len(b.wrong), b.wrong)
	}
	b.wrong = nil // each is what was wanted
	b.asked = slices.DeleteFunc(b.asked, func(u string) bool { return u == "http://127.0.0.1:1/" })
}
