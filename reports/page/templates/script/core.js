"use strict";
// The state of the page stands in its address, as #section;name=value;name=value.
//
// A feature is a file beside this one, in a block { ... } of its own. What it lets the reader choose
// is a state with a name, and a value that is a text:
//   const corr = page.state("corr", "top1");     // the name in the address, and the value unless chosen
//   corr.listen((value) => { ... });             // called now, and whenever the value changes
//   corr.set("diff");                            // corr.value is it
// A control needs no script of its own: <select data-state="base">, or radio inputs, checkboxes and
// text inputs with data-state, show the state of that name and set it. What the file has them show
// is the value unless chosen; a value that none of them has counts as not chosen.
//
// States that several features share:
//   top    "1" or "5": which accuracy is shown
//   base   the model that others are compared with, by number; the page's own baseline unless chosen
//   iso    models that stand out, off: models that are left out; numbers joined by dots
// The number of a model is that in data-model, which all that is of one model has: a row, a line.
//
// The classes script-only and .current: what is shown only where this script runs, and where a link led.
const page = (() => {
  const states = new Map();
  let section = "";

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return ""; // an address that was cut within a letter
    }
  }

  function readAddress() {
    const values = new Map();
    section = "";
    for (const part of location.hash.slice(1).split(";")) {
      const [name, value] = part.split("=", 2).map(decoded);
      if (value === undefined) section ||= name;
      else values.set(name, value);
    }
    return values;
  }

  function address() {
    const chosen = Array.from(states.values()).filter((state) => state.value !== state.initial);
    const parts = chosen.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`);
    return `#${[section, ...parts].filter(Boolean).join(";")}`;
  }

  class State {
    constructor(name, initial) {
      this.name = name;
      this.initial = initial;
      this.controls = Array.from(document.querySelectorAll(`[data-state="${name}"]`));
      for (const control of this.controls) this.follow(control);
      this.listeners = [];
      this.value = this.checked(readAddress().get(name));
      this.listen((value) => this.controls.forEach((control) => show(control, value)));
    }

    follow(control) {
      const event = control.type === "search" || control.type === "text" ? "input" : "change";
      control.addEventListener(event, () => this.set(valueOf(control)));
      const initial = initialOf(control);
      if (initial !== null) this.initial = initial;
    }

    checked(value) {
      const choices = this.controls.flatMap(choicesOf);
      const known = choices.length === 0 || choices.includes(value);
      return value === undefined || !known ? this.initial : value;
    }

    listen(listener) {
      this.listeners.push(listener);
      listener(this.value);
    }

    set(value) {
      if (this.take(value)) history.replaceState(null, "", address());
    }

    take(value) {
      const before = this.value;
      this.value = this.checked(value);
      if (this.value === before) return false;
      this.listeners.forEach((listener) => listener(this.value));
      return true;
    }
  }

  const isBox = (control) => control.type === "radio" || control.type === "checkbox";

  function valueOf(control) {
    return control.type === "checkbox" && !control.checked ? "" : control.value;
  }

  function initialOf(control) {
    if (isBox(control)) return control.defaultChecked ? control.value : null;
    if (control.options === undefined) return control.defaultValue;
    const options = Array.from(control.options);
    return (options.find((option) => option.defaultSelected) || options[0]).value;
  }

  function choicesOf(control) {
    if (control.options !== undefined) return Array.from(control.options, (option) => option.value);
    if (control.type === "checkbox") return ["", control.value];
    return control.type === "radio" ? [control.value] : [];
  }

  function show(control, value) {
    if (isBox(control)) control.checked = control.value === value;
    else if (control.value !== value) control.value = value;
  }

  function go() {
    for (const element of document.querySelectorAll(".current")) element.classList.remove("current");
    const target = document.getElementById(section);
    if (target === null) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
    target.classList.add("current");
    target.scrollIntoView();
    target.tabIndex = -1;
    target.focus({ preventScroll: true }); // Tab goes on from there, as after any link
  }

  /** The link to the section that is read is marked. */
  function followReading() {
    const links = Array.from(document.querySelectorAll("nav a"));
    const seen = new IntersectionObserver((entries) => {
      const { target } = entries.find((entry) => entry.isIntersecting) || {};
      if (target === undefined) return;
      for (const link of links) {
        if (link.hash === `#${target.id}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }, { rootMargin: "-20% 0px -79%" });
    for (const part of document.querySelectorAll("main > section")) seen.observe(part);
  }

  /** Paper shows what is folded; the style says so to browsers that know ::details-content. */
  function unfoldForPaper() {
    const folded = () => document.querySelectorAll("main details:not([open])");
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = Array.from(folded());
      for (const fold of opened) fold.open = true;
    });
    addEventListener("afterprint", () => {
      for (const fold of opened) fold.open = false;
    });
  }

  document.documentElement.classList.add("scripted");
  unfoldForPaper();
  followReading();
  addEventListener("hashchange", () => {
    const values = readAddress();
    for (const state of states.values()) state.take(values.get(state.name));
    go();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    section = link.hash.slice(1);
    history.pushState(null, "", address());
    go();
  });
  addEventListener("DOMContentLoaded", () => {
    readAddress();
    if (section) go();
  });

  return {
    /** The state of a name; made where it is asked for first. */
    state(name, initial = "") {
      if (!states.has(name)) states.set(name, new State(name, initial));
      return states.get(name);
    },
    /** Every control's state, so that controls of which no feature knows work as well. */
    follow() {
      for (const control of document.querySelectorAll("[data-state]")) {
        this.state(control.dataset.state);
      }
    },
  };
})();
page.follow();
