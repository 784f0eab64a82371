"use strict";
(() => {
  const lines = new Map();
  for (const one of document.querySelectorAll("[data-l]")) {
    for (const key of one.dataset.l.split(" ")) {
      if (!lines.has(key)) lines.set(key, []);
      lines.get(key).push(one);
    }
  }
  let pinned = null;
  const keysOf = (one) => (one ? one.dataset.l.split(" ") : []);
  const all = (one) => [...new Set(keysOf(one).flatMap((key) => lines.get(key) || []))];
  const show = (one) => {
    for (const other of document.querySelectorAll(".lit")) other.classList.remove("lit");
    for (const other of all(one)) other.classList.add("lit");
  };
  const reveal = (one) => {
    const home = one.closest(".code");
    for (const code of document.querySelectorAll(".code:not([hidden])")) {
      if (code === home) continue;
      const first = all(one).find((other) => code.contains(other));
      if (!first) continue;
      const place = first.offsetTop - code.offsetTop;
      if (place < code.scrollTop || place > code.scrollTop + code.clientHeight - 40) {
        code.scrollTo({ top: Math.max(0, place - code.clientHeight / 3), behavior: "smooth" });
      }
    }
  };
  const pin = (one) => {
    const again = pinned === one;
    for (const other of document.querySelectorAll(".pin")) other.classList.remove("pin");
    pinned = again ? null : one;
    if (pinned) for (const other of all(pinned)) other.classList.add("pin");
    show(one);
    reveal(one);
  };
  const lineAt = (event) => (event.target instanceof Element ? event.target.closest("[data-l]") : null);
  document.addEventListener("mouseover", (event) => {
    const one = lineAt(event);
    if (one) { show(one); if (!pinned) reveal(one); } else show(pinned);
  });
  document.addEventListener("click", (event) => {
    const one = lineAt(event);
    if (one && !String(window.getSelection())) pin(one);
  });
  document.addEventListener("focusin", (event) => {
    const one = lineAt(event);
    if (one) show(one);
  });
  document.addEventListener("keydown", (event) => {
    const one = lineAt(event);
    if (one && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); pin(one); }
    if (event.key === "Escape" && pinned) { pin(pinned); show(null); }
  });
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => {
      for (const other of document.querySelectorAll("[role=tab]")) {
        const is = other === tab;
        other.setAttribute("aria-selected", String(is));
        document.getElementById(other.getAttribute("aria-controls")).hidden = !is;
      }
      if (pinned) reveal(pinned);
    });
  }
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
