// The picture is complete without this script. It adds zoom, search, a details
// line and the keyboard, and reads all it needs from the picture itself.
(function () {
  'use strict';

  const CHAR = 7.25, PAD = 4; // flameChar and flamePad in flamegraph.go
  const TITLE_CHAR = 10.5, MARGIN = 10, LEAST = 600; // titleChar and margin in svg.go, the least width
  const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
  const svg = document.currentScript.closest('svg');
  const view = svg.querySelector('.frames');
  const header = svg.querySelector('.header');
  const details = header.querySelector('.details');
  const rows = readFrames();
  if (rows.length === 0) return; // no samples
  const root = rows[0][0], all = rows.flat();
  const frameOf = new Map(all.map(f => [f.g, f]));
  let zoomed = root, hint = '';
  let full = root.w; // the width of the root frame now; f.x and f.w are those of the file

  // readFrames returns the frames by level, each linked to parent and children.
  function readFrames() {
    const rows = [];
    for (const row of view.querySelectorAll('.row')) {
      const above = rows[rows.length - 1];
      let p = 0;
      rows.push(Array.from(row.children, g => {
        const rect = g.querySelector('rect');
        const x = Number(rect.getAttribute('x')), w = Number(rect.getAttribute('width'));
        const lines = g.querySelector('title').textContent.split('\n');
        const f = { g, rect, text: g.querySelector('text'), x, w, name: lines[0], lines, kids: [],
          level: rows.length, value: Number(g.dataset.value), sign: g.dataset.sign || '', parent: null };
        if (above) {
          // Frames stand from left to right and a child is inside its parent.
          while (p + 1 < above.length && above[p + 1].x <= x + w / 2) p++;
          f.parent = above[p];
          f.parent.kids.push(f);
        }
        return f;
      }));
    }
    return rows;
  }

  // ---- Names

  // labelFor is signedLabel in flamegraph_names.go, nameFor is frameLabel.
  function labelFor(f, width) {
    if (!f.sign) return nameFor(f.name, width);
    const label = nameFor(f.name, width - CHAR * (columns(f.sign) + 1));
    if (label !== '') return f.sign + ' ' + label;
    return CHAR * columns(f.sign) <= width - 2 * PAD ? f.sign : '';
  }

  function nameFor(name, width) {
    const room = Math.floor((width - 2 * PAD) / CHAR);
    if (room < 3) return '';
    for (const shorten of [shortName, bareName, methodName]) {
      if (columns(name) > room) name = shorten(name);
    }
    return ellipsis(name, room);
  }

  // pathOf returns the name up to its receiver, parameters or type arguments.
  function pathOf(name) {
    return name.split(/[(\[< ]/, 1)[0];
  }

  function shortName(name) {
    const path = pathOf(name), slash = path.lastIndexOf('/');
    return slash < 0 || slash + 1 === path.length ? name : name.slice(slash + 1);
  }

  function bareName(name) {
    const dot = pathOf(name).indexOf('.');
    return dot <= 0 || dot + 1 === name.length || name.includes('::') ? name : name.slice(dot + 1);
  }

  function methodName(name) {
    const end = name.startsWith('(') ? name.indexOf(').') : -1;
    return end < 0 || end + 2 === name.length ? name : name.slice(end + 2);
  }

  function ellipsis(s, room) {
    if (columns(s) <= room) return s;
    let out = '', used = 0;
    for (const c of s) {
      used += columns(c);
      if (used > room - 1) break;
      out += c;
    }
    return out + '\u2026';
  }

  function columns(s) {
    let n = 0;
    for (const c of s) n += c.codePointAt(0) >= 0x2e80 ? 2 : 1;
    return n;
  }

  // ---- Zoom

  function zoom(target) {
    zoomed = target;
    const scale = full / target.w, end = target.x + target.w;
    const around = new Set();
    for (let f = target.parent; f; f = f.parent) around.add(f);
    for (const f of all) {
      const middle = f.x + f.w / 2;
      const inside = f.level >= target.level && middle > target.x && middle < end;
      f.g.style.display = inside || around.has(f) ? '' : 'none';
      f.g.classList.toggle('around', around.has(f));
      if (inside) place(f, (f.x - target.x) * scale, f.w * scale);
      if (around.has(f)) place(f, 0, full);
    }
    resetButton.disabled = target === root;
    report(input.value);
    rest();
  }

  function place(f, x, w) {
    f.rect.setAttribute('x', x);
    f.rect.setAttribute('width', w);
    const label = labelFor(f, w);
    if (label === '') {
      if (f.text) f.text.remove();
      f.text = null;
      return;
    }
    if (!f.text) {
      f.text = f.g.appendChild(document.createElementNS(SVG, 'text'));
      f.text.setAttribute('y', 13);
    }
    f.text.setAttribute('x', x + PAD);
    f.text.textContent = label;
  }

  // ---- Search

  // search marks the frames whose name holds query or matches it as a regular
  // expression.
  function search(query) {
    const needle = query.toLowerCase();
    let pattern = null;
    try { pattern = new RegExp(query, 'i'); } catch { /* "(*T)" is a fair substring */ }
    for (const f of all) {
      f.hit = query !== '' && f !== root &&
        (f.name.toLowerCase().includes(needle) || (pattern !== null && pattern.test(f.name)));
      f.g.classList.toggle('hit', f.hit);
    }
    view.classList.toggle('searching', query !== '');
    report(query);
  }

  // report shows the share of the samples with a hit on their stack, after a zoom
  // of those in view.
  function report(query) {
    if (query === '') {
      result.textContent = '';
      return;
    }
    const hits = all.filter(f => f.hit).length;
    let text = share(root) + ' of all in ' + hits.toLocaleString('en') + (hits === 1 ? ' frame' : ' frames');
    if (zoomed !== root) text += ', ' + share(zoomed) + ' of this view';
    result.textContent = text;
  }

  // share returns the part of f's value on stacks with a hit. A hit above
  // another on a stack stands for it, so that no sample counts twice.
  function share(f) {
    let value = 0;
    const open = [f];
    for (let up = f.parent; up; up = up.parent) if (up.hit) value = f.value;
    while (open.length > 0 && value < f.value) {
      const next = open.pop();
      if (next.hit) value += next.value;
      else open.push(...next.kids);
    }
    return (100 * Math.min(1, value / f.value)).toFixed(2) + '%'; // the cut frames of a difference exceed it
  }

  // ---- Details

  function describe(f) {
    const room = Math.floor(full / CHAR);
    const value = f.lines[f.lines.length - 1];
    const file = f.lines.length > 2 ? '  ' + f.lines[1] : '';
    const name = ellipsis(f.name, Math.max(room - value.length - 2, 16));
    details.textContent = ellipsis(name + '  ' + value + file, room);
  }

  // rest is the details line while no frame is pointed at.
  function rest() {
    if (zoomed === root) details.textContent = hint;
    else describe(zoomed);
  }

  // ---- Controls

  function element(parent, namespace, name, attributes) {
    const e = document.createElementNS(namespace, name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    return parent.appendChild(e);
  }

  const controls = element(header, SVG, 'foreignObject', { y: 6, width: 336, height: 34 });
  const form = element(controls, HTML, 'form', { role: 'search' });
  const resetButton = element(form, HTML, 'button', { type: 'button', title: 'Zoom out (Esc)' });
  resetButton.textContent = 'Reset zoom';
  const input = element(form, HTML, 'input', { type: 'search', placeholder: 'Search: text or regex  ( / )',
    'aria-label': 'Search functions, text or regular expression', autocomplete: 'off', spellcheck: 'false' });
  const result = element(header, SVG, 'text', { class: 'note', y: 48, 'text-anchor': 'end', 'aria-live': 'polite' });

  // ---- Width

  // fit lays the picture out for a width: text keeps its size, frames and the header fill it.
  const title = header.querySelector('.title'), heading = svg.querySelector('title').textContent;
  const height = svg.viewBox.baseVal.height, fluid = svg.getAttribute('width') === '100%';
  function fit(width) {
    full = width - 2 * MARGIN;
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
    controls.setAttribute('x', MARGIN + full - 333);
    result.setAttribute('x', MARGIN + full);
    title.textContent = ellipsis(heading, Math.floor((full - 340) / TITLE_CHAR));
    for (const key of header.querySelectorAll('.key')) {
      const box = key.querySelector('text');
      const end = Number(box.getAttribute('x')) + CHAR * columns(box.textContent);
      key.style.display = end > MARGIN + full ? 'none' : '';
    }
    zoom(zoomed);
  }

  function refit() {
    const width = Math.max(LEAST, Math.round(svg.getBoundingClientRect().width));
    if (width !== Math.round(full + 2 * MARGIN)) fit(width);
  }

  resetButton.addEventListener('click', () => zoom(root));
  input.addEventListener('input', () => search(input.value));
  form.addEventListener('submit', e => e.preventDefault());

  function reset() {
    input.value = '';
    search('');
    zoom(root);
  }

  // ---- Pointer and keyboard

  function frameAt(event) {
    const g = event.target.closest('.row > g');
    return g ? frameOf.get(g) : undefined;
  }

  view.addEventListener('click', e => { const f = frameAt(e); if (f) { select(f); zoom(f); describe(f); } });
  view.addEventListener('mouseover', e => { const f = frameAt(e); if (f) describe(f); });
  view.addEventListener('mouseleave', rest);
  view.addEventListener('focusin', e => { const f = frameAt(e); if (f) describe(f); });

  // One frame at a time is in the tab order; the arrows move it.
  let selected = root;
  function select(f) {
    selected.g.setAttribute('tabindex', -1);
    selected = f;
    f.g.setAttribute('tabindex', 0);
    f.g.focus({ preventScroll: true });
  }

  // neighbour returns the frame that an arrow key leads to, if any.
  function neighbour(f, key) {
    const shown = g => g && g.g.style.display !== 'none' ? g : undefined;
    const row = rows[f.level], i = row.indexOf(f);
    switch (key) {
      case 'ArrowUp': return shown(f.parent);
      case 'ArrowDown': return f.kids.find(shown);
      case 'ArrowLeft': return shown(row[i - 1]);
      case 'ArrowRight': return shown(row[i + 1]);
    }
  }

  function move(event) {
    const f = frameAt(event);
    if (!f) return;
    if (event.key === 'Enter' || event.key === ' ') {
      zoom(f);
      describe(f);
    } else if (event.key.startsWith('Arrow')) {
      const to = neighbour(f, event.key);
      if (to) {
        select(to);
        const box = to.g.getBoundingClientRect(), top = header.getBoundingClientRect().bottom;
        if (box.top < top || box.bottom > window.innerHeight) window.scrollBy(0, box.top - top - 60);
      }
    } else {
      return;
    }
    event.preventDefault();
  }

  document.addEventListener('keydown', e => {
    const focused = document.activeElement, typing = focused === input;
    if (!typing && focused && /^(input|textarea|select)$/.test(focused.localName)) return; // of a page around us
    const find = (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === 'f';
    if ((find || e.key === '/') && !typing) { // once there, ctrl-F is the viewer's own find
      e.preventDefault();
      input.focus();
      input.select();
    } else if (e.key === 'Escape') {
      reset();
      input.blur();
    } else if (!typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
      move(e);
    }
  });

  // The header stays in view: a deep graph is taller than any window.
  window.addEventListener('scroll', () => {
    const top = -svg.getBoundingClientRect().top;
    header.setAttribute('transform', 'translate(0 ' + Math.max(0, top) + ')');
  }, { passive: true });

  svg.setAttribute('role', 'group'); // an image would hide its frames from a screen reader
  view.classList.add('live');
  for (const f of all) f.g.setAttribute('role', 'button');
  root.g.setAttribute('tabindex', 0);
  details.setAttribute('aria-live', 'polite');
  hint = 'Point at a frame for details, click to zoom in, Esc to zoom out, / to search, arrow keys to walk.';
  resetButton.disabled = true;
  fit(root.w + 2 * MARGIN);
  if (fluid) {
    refit();
    window.addEventListener('resize', refit);
  }
})();
