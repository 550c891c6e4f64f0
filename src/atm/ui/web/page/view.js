// What every part draws with: preact, its hooks, and `html` for templates. There is no build step.
import { Component, Fragment, h, render } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

const html = htm.bind(h);

/** Draws a part anew only if one of its properties is another: rows of long lists are mostly the same as before. */
function memo(Part) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const now = this.props;
      for (const key in next) if (next[key] !== now[key]) return true;
      for (const key in now) if (!(key in next)) return true;
      return false;
    }
    render(given) { return h(Part, given); }
  };
}

/** Class names, without those that do not hold. */
const classes = (...names) => names.filter(Boolean).join(" ");

export { Component, Fragment, classes, h, html, memo, render, useEffect, useLayoutEffect, useMemo, useRef, useState };
