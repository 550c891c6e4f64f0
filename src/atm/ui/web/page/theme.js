// Before the first paint, so that nothing flashes: the theme that was chosen here. A plain script: modules run later.
"use strict";
try {
  const chosen = localStorage.getItem("atm-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden; then the system's theme is taken */ }
