// What is shown before or instead of a team: not signed in, nobody answers, no such team.

import { begin, world } from "../live.js";
import { Component, html } from "../view.js";
import { Brand } from "../parts/frame.js";
import { Command, Name, Said } from "../parts/said.js";

const Door = ({ title, lead, children }) => html`<main class="empty" id="main" tabindex="-1"><${Brand} /><h1>${title}</h1><p class="lead">${lead}</p>${children}</main>`;

export const Starting = () => html`<div class="empty"><p class="dim">Reading…</p></div>`;

/** A link works once. Whoever comes with a used one is told so, and how to get another. */
export function SignedOut({ why }) {
  const isLink = why && why.status === 403;
  return html`<${Door} title=${isLink ? "This link was used up" : "You are not signed in"}
    lead=${isLink ? html`<${Said} text=${why.message} />` : "The page shows a team only to whoever opened it from a terminal of this machine."}>
    <ol class="panel rows ways"><li class="row"><div><b>Get a new link</b><small>it works once, and opens this page</small></div><${Command} text="atm web" /></li>
    <li class="row"><div><b>For somebody who only looks</b><small>an observer sees everything and can change nothing</small></div><${Command} text="atm web --observer" /></li></ol>
    ${isLink && why.remedy && html`<p class="dim"><${Said} text=${why.remedy} /></p>`}</${Door}>`;
}

export const Nobody = ({ why }) => html`<${Door} title="Nobody answers" lead="The page is open, but what serves it does not answer. The agents are not affected.">
  <p class="dim"><${Said} text=${why?.remedy ?? ""} /></p><p><button type="button" class="btn primary" onClick=${begin}>Try now</button></p></${Door}>`;

export const Lost = () => html`<div class="empty"><h1>There is no such page</h1><p class="lead">The path leads nowhere.</p><p><a class="btn" href="/">To the teams</a></p></div>`;

export const Missing = ({ team, why }) => html`<div class="empty"><h1>There is no team <${Name} text=${team} /></h1><p class="lead"><${Said} text=${why.remedy || why.message} /></p><p><a class="btn" href="/">To the teams</a></p></div>`;

export const Gone = ({ team }) => html`<div class="empty"><h1>The team <${Name} text=${team} /> was deleted</h1><p class="lead">What was seen of it is not shown any more.</p><p><a class="btn" href="/">To the teams</a></p></div>`;

/** A view that breaks takes nothing else with it: the menu stays, and the reason is said. */
export class Net extends Component {
  constructor() { super(); this.state = { error: null }; }
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }
  render({ children }, { error }) {
    return error ? html`<div class="empty"><h1>This view broke</h1><p class="lead">The rest of the page still works, and so do the agents.</p><p class="dim"><${Said} text=${String(error)} most=${400} /></p></div>` : children;
  }
}

/** No team yet: what to type. */
export const Empty = () => html`<div class="empty"><h1>No team on this machine yet</h1><p class="lead">A team is a few agents and people with mail, a task board and rules. When there is one, this page shows first who needs you.</p>
  <ol class="panel rows ways"><li class="row"><div><b>See one at work</b><small>made-up agents, no model, no network, under a minute</small></div><${Command} text="atm demo" /></li>
  <li class="row"><div><b>Start one on your code</b><small>in a repository; it shows its plan and asks before it begins</small></div><${Command} text=${'atm run "what you want done"'} /></li>
  <li class="row"><div><b>Make an empty one</b><small>and add members by hand</small></div><${Command} text="atm teams create crew" /></li></ol>
  <p class="dim">Looked in <code><${Name} text=${world.hello?.home} /></code></p></div>`;
