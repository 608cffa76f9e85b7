// Light or dark: as the system has it, until the reader chooses.
{
  const theme = page.state("theme", "system");
  const button = document.querySelector(".theme");
  const order = ["system", "dark", "light"];
  button.addEventListener("click", () => {
    theme.set(order[(order.indexOf(theme.value) + 1) % order.length]);
  });
  theme.listen((value) => {
    document.documentElement.dataset.theme = value;
    button.textContent = { dark: "\u25CF", light: "\u25CB" }[value] || "\u25D0";
    button.title = `Colours: ${value === "system" ? "as the system has them" : value}`;
    button.setAttribute("aria-label", button.title);
  });
}
