// page_theme.js: the button that changes between light and dark; without it the system decides.
function addTheme(button) {
  const systemDark = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    const { theme } = document.documentElement.dataset;
    return theme ? theme === "dark" : systemDark.matches;
  }

  function show() {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
  }

  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  systemDark.addEventListener("change", show);
  show();
}
