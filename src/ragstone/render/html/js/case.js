// One record: question, response and verdicts on the left; the passages stay beside them on the right.

/** @typedef {{name: string, title: string, size?: number, layer?: string, metrics?: string[], body: () => Child | Child[]}} Tab */

/** @param {any} found the data of the record, or null @param {string} trouble why it could not be loaded */
function caseView(found, trouble) {
  const line = table.lines.get(now.record);
  const order = matching(now);
  const at = line === undefined ? -1 : order.indexOf(line);
  const box = el('article', { class: 'case', 'aria-labelledby': 'record-title' });
  if (!found)
    return filled(box, null, [caseHead(null, order, at), trouble ? el('p.empty', foreign(trouble)) : notHere()]);
  if (found.set_aside !== undefined) {
    return filled(box, null, [
      caseHead(found, order, at),
      el('div.empty', el('h2', 'Unreadable record'), el('p.prose', foreign(found.set_aside))),
    ]);
  }
  const record = new Case(found);
  const lights = new Lights(found.position);
  const tabs = tabsOf(record, lights);
  const tab = tabs.find((one) => one.name === now.tab) || tabs[0];
  const layer =
    record.layers.find((one) => one.metric === now.layer) ||
    record.layers.find((one) => one.metric === tab.layer) ||
    record.layers[0];
  filled(box, null, [
    caseHead(found, order, at),
    scoreLine(record, tabs),
    el(
      'div.columns',
      el(
        'div.column.left',
        el(
          'div.answered',
          earlierTurns(found.history),
          el('h2', 'Question'),
          el('div', { class: 'prose question', dir: 'auto' }, found.question || el('span.empty', 'none')),
          el('div.head', el('h2', 'Response'), layerChoice(record, layer)),
          responseText(record, layer, lights),
          layer?.marked ? legend(layer) : null,
          found.reference ? [el('h2', 'Reference'), el('div', { class: 'prose', dir: 'auto' }, found.reference)] : null,
        ),
        tabsView(tabs, tab),
        aboutRecord(found),
      ),
      el(
        'div',
        { class: 'column right', tabindex: 0, role: 'region', 'aria-label': 'Passages' },
        el('h2', 'Passages ', el('span.number.soft', found.contexts.length)),
        passagesView(record, layer, lights),
      ),
    ),
  ]);
  lights.show(lights.pinned || worstUnit(layer));
  return box;
}

/** A layer's first unit with the worst verdict, highlighted when a record opens. @param {Layer | undefined} layer */
function worstUnit(layer) {
  const of = (kind) => layer?.entries.find((entry) => entry.kind === kind);
  const worst = of('no') || of('partly');
  return worst ? new Set([worst.unit.id]) : null;
}

/** @param {any} found @param {number[]} order @param {number} at */
function caseHead(found, order, at) {
  const step = (place, words, key) => {
    const line = order[place];
    return line === undefined
      ? el('span.soft', words)
      : el(
          'a',
          {
            href: address({ record: table.position[line] }),
            id: `step-${key}`,
            'aria-keyshortcuts': key,
            title: `key ${key}`,
          },
          words,
        );
  };
  const id = found ? found.id : (table.id[table.lines.get(now.record) ?? -1] ?? `#${now.record}`);
  return el(
    'header.case-head',
    el(
      'nav',
      { 'aria-label': 'Records' },
      el(
        'a',
        { href: address({ record: 0, tab: '', layer: '' }), id: 'back', title: 'key Escape' },
        '\u2190 All records',
      ),
      el(
        'span.steps',
        step(at - 1, 'Previous', 'k'),
        at >= 0
          ? el(
              'span.number.soft',
              `${count(at + 1)} of ${count(order.length)}${filtered(now) ? ' shown' : ''}${now.sort === 'position' ? '' : ` ${sortedBy()}`}`,
            )
          : null,
        step(at + 1, 'Next', 'j'),
      ),
    ),
    idHeading('h1', { id: 'record-title', tabindex: -1 }, id),
  );
}

/** Once all rows are loaded, update the links to the previous and the next record. */
function redrawHead() {
  const order = matching(now);
  const head = caseHead(null, order, order.indexOf(table.lines.get(now.record) ?? -1));
  // The back link and the heading stay, so that a click in progress is not interrupted and the focus is kept.
  document.querySelector('.case-head .steps')?.replaceWith(head.querySelector('.steps'));
}

function notHere() {
  if (now.record > first.records)
    return el('p.empty', `There is no record #${count(now.record)}: the run has ${plural(first.records, 'record')}.`);
  if (first.live || caseAt.size === first.records)
    return el('p.empty', `Record #${count(now.record)} has no result in this run yet.`);
  return el(
    'p.empty',
    'This file has room only for the lowest-scoring records; this one is left out. To see it: ',
    el('code', command(`ragstone view ${first.run}`, first.store)),
    '.',
  );
}

/** The values of a record, each linked to the tab with its evidence. @param {Case} record @param {Tab[]} tabs */
function scoreLine(record, tabs) {
  const tabFor = (metric) => tabs.find((tab) => tab.metrics?.includes(metric))?.name || 'scores';
  const order = first.metrics.map((metric) => metric.name);
  const scores = record.document.scores
    .filter(({ status }) => status !== 'missing_field') // the scores tab lists these
    .filter(
      ({ metric }) => !metric.includes('.') || measureOf(metric).open || measureOf(metric).shown?.includes(metric),
    )
    .sort((a, b) => order.indexOf(a.metric) - order.indexOf(b.metric));
  return el(
    'dl.score-line',
    scores.map((score) =>
      el(
        'div',
        el('dt', named(score.metric)),
        el(
          'dd',
          score.value === null ? null : { class: 'toned', css: tone(score.value, score.metric) },
          el(
            'a',
            {
              href: address({ tab: tabFor(score.metric), layer: '' }),
              class: score.value === null ? 'figure state' : 'figure',
            },
            score.value === null ? STATUS[score.status] : percent(score.value),
          ),
          score.value === null ? null : thinBar(score.value),
        ),
      ),
    ),
  );
}

/** @param {Case} record @param {Layer | undefined} layer */
function layerChoice(record, layer) {
  if (!layer || !record.layers[0].marked) return null;
  const said = (one) => `${one.of} (${named(one.metric)})`;
  if (record.layers.length === 1) return el('span.soft', said(layer));
  return choice(
    'Underline',
    record.layers.map((one) => [one.metric, said(one)]),
    layer.metric,
    (metric) => slide({ layer: metric }),
  );
}

/** @param {Case} record @param {Lights} lights @returns {Tab[]} */
function tabsOf(record, lights) {
  const panels = panelMetrics(record).length;
  /** @type {(Tab | false | null | undefined | '')[]} */
  const tabs = [
    ...unitTabs(record, lights),
    record.map && {
      name: measureOf(record.map.metric).task,
      title: `${named(record.map.metric.split('.')[0])} map`,
      layer: record.map.metric,
      metrics: [record.map.metric],
      body: () => traceView(record, lights),
    },
    Object.values(record.document.methods || {}).some((found) => found.difference !== null) && {
      name: 'methods',
      title: 'Ordinary and nugget scores',
      body: () => methodsTable(record.document.methods),
    },
    panels > 0 && { name: 'panel', title: 'Panel', body: () => panelView(record, lights) },
    { name: 'scores', title: 'Scores', size: record.document.scores.length, body: () => scoresTable(record, lights) },
    { name: 'calls', title: 'Raw calls', size: record.document.calls.length, body: () => callsView(record) },
  ];
  return tabs.filter(Boolean);
}

/** A tab for each kind of judged unit, those of a bank last. @param {Case} record @param {Lights} lights */
function unitTabs(record, lights) {
  const layers = record.layers.filter((one) => one.metric !== record.map?.metric);
  const names = [...new Set(layers.map((one) => one.of))].sort((a, b) => Number(isBank(a)) - Number(isBank(b)));
  return names.map((name) => {
    const metrics = layers.filter((one) => one.of === name).map((one) => one.metric);
    return {
      name: isBank(name) ? 'bank' : name,
      title: isBank(name) ? 'Nugget bank' : capital(name),
      size: new Set(metrics.flatMap((metric) => record.of(metric).map((entry) => entry.unit.id))).size,
      layer: metrics[0],
      metrics,
      body: () => unitTable(record, metrics, lights, capital(name.slice(0, -1))),
    };
  });
}

/** @param {string} name of the units of a layer */
function isBank(name) {
  return name.startsWith('bank ');
}

/** @param {Tab[]} tabs @param {Tab} chosen */
function tabsView(tabs, chosen) {
  const list = el(
    'div',
    { class: 'tabs', role: 'tablist', 'aria-label': 'Evidence for this record\u2019s scores' },
    tabs.map((tab) =>
      el(
        'button',
        {
          role: 'tab',
          id: `tab-${tab.name}`,
          'aria-selected': tab === chosen ? 'true' : 'false',
          'aria-controls': 'panel',
          tabindex: tab === chosen ? 0 : -1,
          on: { click: () => slide({ tab: tab.name, layer: '' }) },
        },
        tab.title,
        tab.size === undefined ? null : el('span.number.soft', ` ${tab.size}`),
      ),
    ),
  );
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(chosen);
    const next = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    slide({ tab: tabs[next].name, layer: '' });
    document.getElementById(`tab-${tabs[next].name}`)?.focus();
  });
  return el(
    'div.tabbed',
    list,
    el(
      'div',
      { class: 'tab-panel', role: 'tabpanel', id: 'panel', 'aria-labelledby': `tab-${chosen.name}`, tabindex: 0 },
      chosen.body(),
    ),
  );
}

function aboutRecord(found) {
  const meta = Object.entries(found.meta || {});
  const rows = [
    ['Record', `${count(found.position)} of ${count(first.records)}, ${found.where}`],
    ...(found.topic ? [['Topic', found.topic]] : []),
    ...(found.notes || []).map((note) => ['Note', note]),
    ...meta.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  ];
  return el(
    'details',
    { class: 'meta', open: meta.length > 0 && meta.length <= 4 },
    el('summary', 'About this record'),
    el(
      'dl',
      rows.flatMap(([name, value]) => [el('dt', foreign(name)), el('dd', foreign(value))]),
    ),
  );
}
