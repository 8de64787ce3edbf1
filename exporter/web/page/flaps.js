// Keeps the page fresh. It asks for the page again and changes only what differs, so focus, selection and scroll position stay.
"use strict";
(() => {
  const shown = 5_000, hidden = 30_000, patience = 10_000;
  let answered = Date.now();

  const children = (parent, id) => [...parent.children].find((child) => child.id === id);

  // patch makes a node like a fresh one. Nodes with an ID keep their identity when they move.
  function patch(node, fresh) {
    if (node.nodeType !== fresh.nodeType || node.nodeName !== fresh.nodeName || node.id !== fresh.id) {
      node.replaceWith(fresh);
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) {
      if (node.data !== fresh.data) node.data = fresh.data;
      return;
    }
    // The reader opens and closes details.
    for (const { name } of [...node.attributes]) if (!fresh.hasAttribute(name) && name !== "open") node.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    for (const child of [...node.children]) if (child.id && !children(fresh, child.id)) child.remove();
    const all = [...fresh.childNodes];
    all.forEach((child, i) => {
      const here = node.childNodes[i] ?? null;
      const kept = child.id && children(node, child.id);
      if (kept) {
        if (kept !== here) node.insertBefore(kept, here);
        patch(kept, child);
      } else if (!here || child.id || here.id) {
        node.insertBefore(child, here);
      } else {
        patch(here, child);
      }
    });
    while (node.childNodes.length > all.length) node.lastChild.remove();
  }

  async function refresh() {
    const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(patience) });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("live")) throw new Error(`answered with ${answer.status}`);
    const focused = document.activeElement;
    for (const id of ["blind", "asof", "live"]) patch(document.getElementById(id), page.getElementById(id));
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
    if (document.title !== page.title) document.title = page.title;
    answered = Date.now();
  }

  const stale = document.createElement("p");
  stale.id = "stale";
  stale.className = "banner";
  stale.setAttribute("role", "alert");
  function tell(failed) {
    if (!failed) {
      stale.remove();
      return;
    }
    // The number in the title may be wrong by now. The next answer replaces the title.
    document.title = "(?) " + document.title.replace(/^\([^)]*\) /, "");
    if (!stale.isConnected) {
      const since = new Date(answered).toISOString().slice(0, 19).replace("T", " ");
      stale.textContent = `This page is not up to date: kubeflap has not answered since ${since} UTC.`;
      document.body.prepend(stale);
    }
  }

  let timer, asking = false;
  async function tick() {
    if (asking) return;
    asking = true;
    clearTimeout(timer);
    try {
      await refresh();
      tell(false);
    } catch {
      tell(true);
    }
    asking = false;
    timer = setTimeout(tick, document.hidden ? hidden : shown);
  }
  if (document.getElementById("live")) {
    timer = setTimeout(tick, shown);
    document.addEventListener("visibilitychange", () => document.hidden || tick());
  }
})();
