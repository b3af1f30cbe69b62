// Keeps an open page as the holder sees it. Without this script the page is whole, and shows one moment.
"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  const body = document.body, list = get("appliers"), live = get("live"), liveText = get("live-text"), lost = get("lost");
  const query = get("q"), form = query.form, tabs = [...document.querySelectorAll("[data-show]")];

  // The only HTML that is ever put into the page was written by the holder; what is not made by this policy is refused.
  const ours = window.trustedTypes
    ? window.trustedTypes.createPolicy("holdfast", { createHTML: (text) => text })
    : { createHTML: (text) => text };

  const silence = 30e3; // three beats missed
  let version = body.dataset.version, source = null, retry = 0, pause = 1e3;
  let at = Date.parse(body.dataset.at), heard = 0, skew = Date.now() - at, how = "still";

  // --- what time does

  const spoken = (ms) => {
    const s = Math.max(0, Math.round(ms / 1e3));
    if (s < 90) return s + " s";
    if (s < 90 * 60) return Math.round(s / 60) + " min";
    if (s < 36 * 3600) return Math.round(s / 3600) + " h";
    return Math.round(s / 86400) + " d";
  };
  const clock = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ") + " UTC";
  const ages = (root) => {
    const now = Date.now() - skew;
    for (const t of root.querySelectorAll("time[data-ago]")) {
      if (!t.title) t.title = t.textContent;
      t.textContent = spoken(now - Date.parse(t.dateTime)) + " ago";
    }
  };
  const tell = () => {
    if (how === "on") liveText.textContent = "Live, updated " + spoken(Date.now() - heard) + " ago";
    else if (how === "lost") liveText.textContent = "Not live, as of " + clock(at);
  };

  // --- what the filters do; filter.go follows the same rules

  const fits = (li, show, words) => {
    if (show === "attention" ? !("attention" in li.dataset) : show !== "all" && li.dataset.group !== show) return false;
    return words.every((w) => li.dataset.search.includes(w));
  };
  let omitted = get("shown").textContent.split(";")[1] || "";
  const filter = () => {
    const show = form.elements.show.value, words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const li of list.children) {
      li.hidden = !fits(li, show, words);
      if (!li.hidden) n++;
    }
    const text = n + " of " + list.children.length + " shown" + (omitted && ";" + omitted);
    if (get("shown").textContent !== text) get("shown").textContent = text;
    list.toggleAttribute("data-empty", n === 0);
    get("none").hidden = n > 0;
    get("none").textContent = list.children.length ? "No applier fits." : "There is no FluxTrigger, so nothing is held.";
    for (const a of tabs) {
      if (a.dataset.show === show) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
      a.search = new URLSearchParams(query.value ? { q: query.value, show: a.dataset.show } : { show: a.dataset.show });
    }
    const chosen = new URLSearchParams();
    if (query.value) chosen.set("q", query.value);
    if (show !== "all") chosen.set("show", show);
    history.replaceState(null, "", chosen.size ? "/?" + chosen : "/");
  };

  // --- what a change does

  // replaced puts html into li and leaves what the person at the page opened, and where they are, as it was.
  const reached = (li) => [...li.querySelectorAll("summary, a, [tabindex]")];
  const replaced = (li, html) => {
    const focus = reached(li).indexOf(document.activeElement);
    const open = new Map([...li.querySelectorAll("details[data-touched]")].map((d) => [d.dataset.key || "", d.open]));
    const made = document.createElement("template");
    made.innerHTML = ours.createHTML(html);
    for (const d of made.content.querySelectorAll("details")) {
      const key = d.dataset.key || "";
      if (!open.has(key)) continue;
      d.open = open.get(key);
      d.dataset.touched = "";
    }
    ages(made.content);
    li.replaceChildren(made.content);
    if (focus >= 0) (reached(li)[focus] || list).focus({ preventScroll: true });
  };
  const ordered = (order) => {
    const keep = new Set(order), focus = document.activeElement;
    for (const li of [...list.children]) if (!keep.has(li.id)) li.remove();
    order.forEach((id, i) => {
      const li = get(id);
      if (!li || list.children[i] === li) return;
      if (list.moveBefore) list.moveBefore(li, list.children[i] || null);
      else list.insertBefore(li, list.children[i] || null);
    });
    if (focus !== document.activeElement) (focus.isConnected ? focus : list).focus({ preventScroll: true });
  };
  const say = (text) => { get("said").textContent = text; };
  const become = (c) => {
    if (c.edition !== body.dataset.edition) { location.reload(); return; }
    version = c.version;
    const cards = c.cards || [];
    for (const card of cards) {
      let li = get(card.id);
      if (!li) {
        li = document.createElement("li");
        li.id = card.id;
        list.append(li);
      }
      li.dataset.group = card.group;
      li.dataset.search = card.search;
      if (card.attention) li.dataset.attention = "";
      else delete li.dataset.attention;
      replaced(li, card.html);
      li.classList.remove("changed");
      requestAnimationFrame(() => li.classList.add("changed"));
    }
    if (c.order) ordered(c.order);
    for (const el of document.querySelectorAll("[data-count]")) {
      const n = String(c.counts[el.dataset.count]);
      if (el.textContent !== n) el.textContent = n;
      el.toggleAttribute("data-zero", n === "0");
    }
    get("leading").textContent = c.leading;
    get("leading").dataset.leads = c.leads;
    omitted = c.omitted ? " " + c.omitted + " more are not on this page" : "";
    document.title = "Holdfast" + (c.counts.attention ? " (" + c.counts.attention + " need attention)" : "");
    filter();
    const seen = cards.filter((card) => !get(card.id).hidden);
    if (seen.length > 3) say(seen.length + " appliers changed.");
    else if (seen.length) say(seen.map((card) => card.name + ": " + card.label + (card.attention ? ", needs attention" : "")).join(". ") + ".");
  };

  // --- the connection

  const hear = (now) => {
    heard = Date.now();
    at = Date.parse(now);
    if (Math.abs(heard - at - skew) > 2e3) {
      skew = heard - at; // the two clocks, which may be minutes apart
      ages(document);
    }
    pause = 1e3;
    if (how === "lost") say("Connected to the holder again.");
    how = live.dataset.how = "on";
    lost.hidden = true;
    tell();
  };
  const close = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  };
  const again = (why) => {
    close();
    if (how !== "lost") {
      how = live.dataset.how = "lost";
      lost.textContent = why + " What you see is as of " + clock(at) + ". Trying again; nothing on this page needs you to.";
      lost.hidden = false;
      tell();
    }
    retry = setTimeout(open, pause);
    pause = Math.min(pause * 2, 10e3);
  };
  const open = () => {
    close();
    if (document.hidden) return; // who does not look costs nothing
    heard = Date.now();
    const mine = source = new EventSource("/status/events?have=" + encodeURIComponent(version));
    const on = (name, act) => mine.addEventListener(name, (e) => { if (mine === source) act(JSON.parse(e.data)); });
    on("change", become);
    on("beat", (b) => hear(b.at));
    on("full", () => { pause = 10e3; again("Too many pages of this holder are open, so this one does not update itself."); });
    mine.onerror = () => {
      if (mine === source) again("The connection to the holder is lost. If your kubectl port-forward has ended, start it again.");
    };
  };

  body.classList.add("live");
  setInterval(() => {
    if (source && Date.now() - heard > silence) again("The holder has not been heard of for a while.");
    tell();
  }, 1e3);
  setInterval(() => ages(document), 15e3);
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else { ages(document); open(); } });
  list.addEventListener("click", (e) => {
    const summary = e.target.closest("summary");
    if (summary) summary.parentElement.dataset.touched = "";
  });
  query.addEventListener("input", filter);
  form.addEventListener("submit", (e) => { e.preventDefault(); filter(); });
  for (const a of tabs) {
    a.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      form.elements.show.value = a.dataset.show;
      filter();
    });
  }
  ages(document);
  filter();
  open();
})();
