// What a cell says, and beside a drawing what the nearest point within REACH of its units says.
{
  const REACH = 34;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  /** Points of a drawing that are shown, with what their titles say. */
  function pointsOf(chart) {
    return Array.from(chart.querySelectorAll(".marker"), (marker) => {
      const [, x, y] = marker.getAttribute("d").match(/^M([\d.]+) ([\d.]+)/);
      const title = marker.querySelector("title");
      title.remove(); // or the browser shows it, too
      const series = marker.closest(".series");
      return { x: Number(x), y: Number(y), text: title.textContent, series };
    });
  }

  function nearest(points, x, y) {
    const distance = (point) => Math.hypot(point.x - x, point.y - y);
    const shown = points.filter(({ series }) => !series.matches(".off, .dim"));
    const near = shown.filter((point) => distance(point) <= REACH);
    return near.reduce((best, point) => (best && distance(best) <= distance(point) ? best : point), null);
  }

  function hide() {
    tip.hidden = true;
    for (const element of document.querySelectorAll(".hot")) element.classList.remove("hot");
  }

  function tell(text, x, y) {
    const [, name, value] = text.match(/^(.*): (.*)$/s) || [null, text, ""];
    const strong = document.createElement("b");
    strong.textContent = value;
    tip.replaceChildren(name, strong);
    tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y - height - 12 < 4 ? y + 18 : y - height - 12}px`;
  }

  for (const chart of document.querySelectorAll("svg.chart")) {
    const points = pointsOf(chart);
    const guide = chart.querySelector(".guide");
    const follow = (event) => {
      const scale = chart.getScreenCTM().inverse();
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(scale);
      const point = nearest(points, x, y);
      hide();
      if (point === null) return;
      point.series.classList.add("hot");
      if (guide) {
        guide.classList.add("hot");
        guide.setAttribute("transform", `translate(${point.x})`);
      }
      tell(point.text, event.clientX, event.clientY);
    };
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", hide);
  }
  // Cells have a title, which a browser would show late, and only to a mouse.
  let told = null;
  document.addEventListener("pointerover", (event) => {
    if (told !== null && told.contains(event.target)) return;
    if (told !== null) {
      told.title = told.dataset.title;
      told = null;
      hide();
    }
    const cell = event.target.closest("td[title], td [title]");
    if (cell === null) return;
    told = cell;
    cell.dataset.title = cell.title;
    cell.removeAttribute("title");
    const { right, top } = cell.getBoundingClientRect();
    tell(cell.dataset.title, right - 20, top);
  });
  addEventListener("scroll", hide, { passive: true });
}
