// Keeps the board current: swaps the sections that changed, and rests while the tab is hidden.
"use strict";
(() => {
  const address = document.body.dataset.live;
  const told = document.getElementById("live");
  let source = null;

  // The address of a page that said something once should not say it again.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);

  const say = (text) => {
    if (told.textContent !== text) told.textContent = text;
  };

  // What a person opened, and where the keyboard is, stays so.
  const swap = (element, html) => {
    const open = [...element.querySelectorAll("details[open]")].map((each) => each.id);
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    const place = focused && (focused.id ? "#" + CSS.escape(focused.id) : mark(focused));
    const scrolled = [...element.querySelectorAll(".scroll, nav")].map((each) => each.scrollLeft);
    element.innerHTML = html;
    open.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    element.querySelectorAll(".scroll, nav").forEach((each, n) => (each.scrollLeft = scrolled[n] || 0));
    if (place) element.querySelector(place)?.focus({ preventScroll: true });
  };

  const mark = (element) => {
    const href = element.getAttribute("href");
    if (href) return `a[href="${CSS.escape(href)}"]`;
    const label = element.getAttribute("aria-label");
    return label ? `[aria-label="${CSS.escape(label)}"]` : null;
  };

  // Not under the fingers of someone who types or marks a text.
  const isBusy = (element) => {
    const active = document.activeElement;
    if (active && active.tagName === "INPUT" && element.contains(active)) return true;
    const marked = getSelection();
    return !marked.isCollapsed && element.contains(marked.anchorNode);
  };

  const receive = (event) => {
    for (const [name, html] of Object.entries(JSON.parse(event.data))) {
      const element = document.getElementById(name);
      if (element && !isBusy(element)) swap(element, html);
    }
    const verdict = document.querySelector("#head .verdict .state");
    if (verdict) document.title = verdict.lastChild.textContent.trim() + " \u2013 reaper";
    say("Live.");
  };

  const start = () => {
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.onmessage = receive;
    source.onerror = () => {
      say("Not live: the page does not answer; trying again.");
      // After a refusal the browser does not try by itself; a new login is asked for by a new page.
      if (source && source.readyState === EventSource.CLOSED) {
        stop();
        setTimeout(() => (document.hidden ? null : location.reload()), 10000);
      }
    };
  };

  const stop = () => {
    source?.close();
    source = null;
  };

  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", start);
  start();
})();
