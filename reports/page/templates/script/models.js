// Models that stand out or are left out, everywhere on the page: all that has data-model, and the rows
// of tables that have the label of a model.
//
// What has data-isolate="3" becomes a button that makes the fourth model stand out; with Shift it is
// added to those that do. In a list or table of such buttons the arrow keys lead from one to the next.
{
  const iso = page.state("iso");
  const off = page.state("off");
  const labels = new Map(
    Array.from(document.querySelectorAll(".filter input"), (box) => [box.dataset.label, box.value]),
  );
  for (const head of document.querySelectorAll(".rb-table tbody th")) {
    const model = labels.get(head.textContent.trim());
    if (model !== undefined) head.parentElement.dataset.model = model;
  }
  const ofModels = Array.from(document.querySelectorAll("[data-model]"));
  const known = new Set(ofModels.map((element) => element.dataset.model));
  const numbers = (state) => new Set(state.value.split(".").filter((number) => known.has(number)));

  function mark() {
    const [standing, left] = [numbers(iso), numbers(off)];
    for (const element of ofModels) {
      const model = element.dataset.model;
      element.classList.toggle("off", left.has(model));
      element.classList.toggle("iso", standing.has(model));
      element.classList.toggle("dim", standing.size > 0 && !standing.has(model));
    }
    for (const button of document.querySelectorAll("[data-isolate] > button")) {
      const model = button.parentElement.dataset.isolate;
      button.setAttribute("aria-pressed", standing.has(model));
      button.parentElement.classList.toggle("off", left.has(model));
    }
    for (const box of document.querySelectorAll(".filter input")) box.checked = !left.has(box.value);
    for (const count of document.querySelectorAll(".filter output")) {
      count.textContent = left.size ? `${known.size - left.size} of ${known.size}` : known.size;
    }
  }

  function isolate(model, more) {
    const standing = numbers(iso);
    const stood = standing.has(model) && (more || standing.size === 1);
    if (!more) standing.clear();
    if (stood) standing.delete(model);
    else standing.add(model);
    iso.set(Array.from(standing).join("."));
  }

  for (const place of document.querySelectorAll("[data-isolate]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...place.childNodes);
    place.append(button);
    button.addEventListener("click", (event) => isolate(place.dataset.isolate, event.shiftKey));
  }
  for (const group of document.querySelectorAll(".legend, tbody")) {
    const buttons = () => Array.from(group.querySelectorAll("[data-isolate]:not(.off) > button"));
    group.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      const all = buttons();
      const next = all[all.indexOf(event.target) + step];
      if (step === undefined || !all.includes(event.target)) return;
      event.preventDefault();
      if (next) next.focus();
    });
  }
  for (const name of document.querySelectorAll(".chart .name")) {
    const model = name.closest("[data-model]").dataset.model;
    name.addEventListener("click", (event) => isolate(model, event.shiftKey));
  }
  for (const filter of document.querySelectorAll(".filter")) {
    filter.addEventListener("change", () => {
      const boxes = Array.from(filter.querySelectorAll("input"));
      off.set(boxes.filter((box) => !box.checked).map((box) => box.value).join("."));
    });
    filter.querySelector("button").addEventListener("click", () => {
      off.set("");
      iso.set("");
    });
    document.addEventListener("click", (event) => {
      if (!filter.contains(event.target)) filter.open = false;
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = document.querySelector(".filter[open]");
    if (open === null) iso.set("");
    else {
      open.open = false;
      open.querySelector("summary").focus();
    }
  });
  // Where the reader may choose whom the others are compared with, that one is drawn as the baseline.
  page.state("base").listen((model) => {
    if (!known.has(model)) return;
    for (const element of ofModels) element.classList.toggle("base", element.dataset.model === model);
    for (const tag of document.querySelectorAll(".board .tag")) {
      const name = tag.closest("tbody").querySelector(`tr[data-model="${model}"] > th`);
      if (name) name.append(tag);
    }
  });
  iso.listen(mark);
  off.listen(mark);
}
