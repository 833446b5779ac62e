'use strict';
(() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const canvas = document.getElementById('graph');
  const scroller = document.getElementById('rows');
  const room = document.getElementById('room');
  const tip = document.getElementById('tip');
  const told = document.getElementById('told');
  const paint = canvas.getContext('2d');

  const rowHeight = 15, paper = 2, axisHeight = 20, pad = 4;
  const mono = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
  const span = Number(page.span);
  const from = BigInt(page.from);
  const start = BigInt(page.start);
  const dark = matchMedia('(prefers-color-scheme: dark)');

  // What is shown: [view.from, view.to) in nanoseconds behind the start of the range.
  const view = { from: 0, to: span };
  const least = Math.min(span, 10);
  let width = 0, height = 0, labels = 95, ratio = 1; // in CSS pixels
  let theme = {};
  let cursor = null; // {row, time}: what the keyboard reads

  // Rows, from top to bottom: y and height of each.
  const rows = page.rows;
  let total = 0;
  for (const row of rows) {
    row.y = total;
    row.height = (row.range || row.attributes ? 2 * rowHeight : rowHeight) - paper;
    total += row.height + paper;
  }

  // reader reads the bytes of a row.
  function reader(text) {
    const raw = atob(text);
    const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
    const data = new DataView(bytes.buffer);
    let at = 0;
    return {
      more: () => at < bytes.length,
      uint() {
        let n = 0, unit = 1, b;
        do {
          b = bytes[at++];
          n += (b & 127) * unit;
          unit *= 128;
        } while (b >= 128);
        return n;
      },
      float() {
        at += 8;
        return data.getFloat64(at - 8, true);
      },
    };
  }

  // statesOf returns the states of a row, read when they are first needed. ends are exclusive.
  function statesOf(row) {
    if (row.states) return row.states;
    const r = reader(row.data);
    if (page.columns === 0) row.states = intervals(r);
    else if (row.range) row.states = numbers(r);
    else row.states = shares(r, row.attributes ? 1e6 : 0);
    row.data = null;
    return row.states;
  }

  function intervals(r) {
    const before = r.uint(), last = r.uint();
    const codes = [], ends = [];
    let end = 0;
    while (r.more()) {
      codes.push(r.uint());
      end += r.uint() + 1;
      ends.push(end);
    }
    return { codes: Uint32Array.from(codes), ends: Float64Array.from(ends), before, behind: Math.floor(last / 2), open: last % 2 === 1 };
  }

  // shares returns cells, whose times are in parts of a whole column, or in instants if that is 0: those of column i are from first[i] to first[i+1].
  function shares(r, whole) {
    const first = [0], codes = [], times = [];
    while (r.more()) {
      const n = r.uint();
      if (n === 0) {
        const code = r.uint();
        for (let left = r.uint(); left > 0; left--) {
          const i = first.length - 1;
          codes.push(code);
          times.push(columnStart(i + 1) - columnStart(i));
          first.push(codes.length);
        }
        continue;
      }
      for (let i = 0; i < n; i++) {
        const c = first.length - 1;
        codes.push(r.uint());
        times.push(whole > 0 ? r.uint() / whole * (columnStart(c + 1) - columnStart(c)) : r.uint());
      }
      first.push(codes.length);
    }
    return { first, codes, times };
  }

  function numbers(r) {
    const all = [];
    while (r.more()) {
      const time = r.uint();
      all.push(time === 0 ? null : { time, least: r.float(), mean: r.float(), most: r.float() });
    }
    return { all };
  }

  const columnStart = (i) => Math.floor(span * (i / page.columns));
  const columnAt = (t) => Math.min(page.columns - 1, Math.max(0, Math.floor(t / span * page.columns)));

  // after returns the first interval that ends after a time.
  function after(ends, t) {
    let lo = 0, hi = ends.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (ends[mid] > t) hi = mid;
      else lo = mid + 1;
    }
    return lo;
  }

  // parts calls take with each state and its time in [lo, hi), in the order of time where that is known.
  function parts(row, lo, hi, take) {
    const s = statesOf(row);
    if (page.columns === 0) {
      for (let i = after(s.ends, lo); i < s.ends.length; i++) {
        const begin = i === 0 ? 0 : s.ends[i - 1];
        if (begin >= hi) break;
        take(s.codes[i], Math.min(hi, s.ends[i]) - Math.max(lo, begin));
      }
      return;
    }
    for (let c = columnAt(lo); c < page.columns; c++) {
      const begin = columnStart(c), end = columnStart(c + 1);
      if (begin >= hi) break;
      const part = (Math.min(hi, end) - Math.max(lo, begin)) / (end - begin);
      if (part <= 0) continue;
      for (let i = s.first[c]; i < s.first[c + 1]; i++) take(s.codes[i], s.times[i] * part);
    }
  }

  function colorOf(code) {
    if (code === page.rest || code > page.values.length) return theme.rest;
    const color = page.colors[code - 1];
    return theme.palette[color];
  }

  const titleOf = (code) => page.titles[code] || nameOf(code);
  const nameOf = (code) => code === 0 ? 'null' : code === page.rest || code > page.values.length ? 'other states' : page.values[code - 1];

  // drawColors draws the states of a row. A column of pixels with several states shows their shares from bottom to top.
  function drawColors(row, y) {
    const n = Math.round((width - labels) * ratio), each = (view.to - view.from) / n, pixel = 1 / ratio;
    const s = statesOf(row);
    let code = 0, begun = 0; // the run of columns that have one state
    const times = new Map();
    const end = (c) => {
      if (code > 0 && c > begun) {
        paint.fillStyle = colorOf(code);
        paint.fillRect(labels + begun * pixel, y, (c - begun) * pixel, row.height);
      }
    };
    const only = (c, next) => {
      if (next !== code) {
        end(c);
        code = next;
        begun = c;
      }
    };
    const mixed = (c) => {
      end(c);
      code = 0;
      begun = c + 1;
      let bottom = y + row.height;
      for (const [k, time] of [...times].sort((a, b) => a[0] - b[0])) {
        if (k === 0) continue;
        const part = Math.max(pixel, time / each * row.height); // rare states are seen
        paint.fillStyle = colorOf(k);
        const up = Math.max(y, bottom - part);
        paint.fillRect(labels + c * pixel, up, pixel, bottom - up);
        bottom = up;
      }
    };
    if (page.columns > 0) {
      for (let c = 0; c < n; c++) {
        times.clear();
        parts(row, view.from + c * each, view.from + (c + 1) * each, (k, time) => times.set(k, (times.get(k) || 0) + time));
        if (times.size === 1) only(c, times.keys().next().value);
        else mixed(c);
      }
      end(n);
      return;
    }
    // A walk over the intervals: one that fills columns makes a run of them.
    let i = after(s.ends, view.from), c = 0;
    while (c < n && i < s.ends.length) {
      const lo = view.from + c * each, hi = lo + each;
      if (s.ends[i] >= hi) {
        only(c, s.codes[i]);
        const until = Math.floor((s.ends[i] - view.from) / each);
        c = Math.min(n, Math.max(c + 1, until));
        if (s.ends[i] <= view.from + c * each) i++;
        continue;
      }
      times.clear();
      let at = lo;
      for (; i < s.ends.length && at < hi; i++) {
        const to = Math.min(hi, s.ends[i]);
        times.set(s.codes[i], (times.get(s.codes[i]) || 0) + to - at);
        at = to;
        if (s.ends[i] > hi) break;
      }
      if (times.size === 1) only(c, times.keys().next().value);
      else mixed(c);
      c++;
    }
    end(c);
    drawNames(row, y, s);
  }

  // drawNames writes the names of wide states into them, and a notch between two neighbours that are equal.
  function drawNames(row, y, s) {
    const scale = (width - labels) / (view.to - view.from);
    paint.font = '10px ' + mono;
    paint.textAlign = 'left';
    const letter = paint.measureText('m').width;
    for (let i = after(s.ends, view.from); i < s.ends.length;) {
      const begin = i === 0 ? 0 : s.ends[i - 1];
      if (begin >= view.to) break;
      const x0 = Math.max(0, (begin - view.from) * scale), x1 = Math.min(width - labels, (s.ends[i] - view.from) * scale);
      if (x1 - x0 < 4) { // the next that can have one
        i = Math.max(i + 1, after(s.ends, view.from + (x0 + 4) / scale));
        continue;
      }
      if (i > 0 && s.codes[i] > 0 && s.codes[i] === s.codes[i - 1] && x0 > 0) {
        paint.fillStyle = theme.notch;
        paint.fillRect(labels + x0, y + row.height - 3, 1, 3);
      }
      const most = Math.floor((x1 - x0 - 6) / letter);
      if (s.codes[i] > 0 && x1 - x0 >= 40) {
        let name = nameOf(s.codes[i]);
        if (name.length > most) name = name.slice(0, Math.max(0, most - 1)) + '…';
        paint.fillStyle = page.colors[s.codes[i] - 1] < 12 ? '#1b1d22' : theme.ink;
        paint.fillText(name, labels + x0 + 3, y + 10);
      }
      i++;
    }
  }

  // drawBars draws the numbers of a row: pale up to the greatest of a column, strong up to the mean.
  function drawBars(row, y) {
    const n = Math.round((width - labels) * ratio), each = (view.to - view.from) / n, pixel = 1 / ratio;
    for (let c = 0; c < n;) {
      const lo = view.from + c * each;
      const [found, until] = numberAt(row, lo, lo + each);
      const next = Math.min(n, Math.max(c + 1, Math.floor((until - view.from) / each)));
      if (found) {
        const x = labels + c * pixel, wide = (next - c) * pixel;
        const mean = heightOf(row, found.mean);
        paint.fillStyle = theme.pale;
        paint.fillRect(x, y + row.height - heightOf(row, found.most), wide, heightOf(row, found.most));
        paint.fillStyle = theme.bar;
        paint.fillRect(x, y + row.height - mean, wide, mean);
      }
      c = next;
    }
  }

  function heightOf(row, n) {
    const [lo, hi] = row.range;
    if (hi <= lo) return row.height / 2;
    const part = (n / 2 - lo / 2) / (hi / 2 - lo / 2);
    return 1 + Math.min(1, Math.max(0, part)) * (row.height - 1);
  }

  // numberAt returns the least, the mean and the greatest number in [lo, hi), and until when they hold.
  function numberAt(row, lo, hi) {
    const s = statesOf(row);
    const out = { time: 0, least: Infinity, mean: 0, most: -Infinity };
    const add = (least, mean, most, time) => {
      out.time += time;
      out.least = Math.min(out.least, least);
      out.most = Math.max(out.most, most);
      out.mean += (mean - out.mean) * time / out.time;
    };
    let until = hi;
    if (page.columns > 0) {
      for (let c = columnAt(lo); c < page.columns && columnStart(c) < hi; c++) {
        const a = s.all[c], part = Math.min(hi, columnStart(c + 1)) - Math.max(lo, columnStart(c));
        if (a && part > 0) add(a.least, a.mean, a.most, part);
      }
      return [out.time > 0 ? out : null, until];
    }
    for (let i = after(s.ends, lo); i < s.ends.length; i++) {
      const begin = i === 0 ? 0 : s.ends[i - 1];
      if (begin >= hi) break;
      if (begin <= lo) until = Math.max(hi, s.ends[i]);
      const value = s.codes[i] === 0 ? NaN : Number(page.values[s.codes[i] - 1]);
      if (Number.isFinite(value)) add(value, value, value, Math.min(hi, s.ends[i]) - Math.max(lo, begin));
    }
    return [out.time > 0 ? out : null, until];
  }

  // timeText prints nanoseconds as 1h2m3.5s, 12.5ms or 7µs.
  function timeText(nanos) {
    if (nanos < 0) return '-' + timeText(-nanos);
    const digits = (n, unit, places) => (places > 0 ? n.toFixed(places).replace(/\.?0+$/, '') : n.toFixed(0)) + unit;
    if (nanos < 1e3) return digits(nanos, 'ns', 0);
    if (nanos < 1e6) return digits(nanos / 1e3, 'µs', 3);
    if (nanos < 1e9) return digits(nanos / 1e6, 'ms', 6);
    const whole = Math.floor(nanos / 1e9), rest = nanos - whole * 1e9;
    const seconds = (whole % 60) + rest / 1e9;
    const minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
    let text = hours > 0 ? hours + 'h' : '';
    if (minutes > 0 || hours > 0 && seconds > 0) text += minutes + 'm';
    if (seconds > 0 || text === '') text += digits(seconds, 's', 9);
    return text;
  }

  // offsetText prints a time of the range as the distance from the start of the history.
  const offsetText = (t) => '+' + timeText(Number(from) + Math.round(t));

  // dateText prints a time of the range as a date, to the millisecond.
  function dateText(t) {
    const ms = Number((start + from + BigInt(Math.round(t))) / 1000000n);
    const date = new Date(ms);
    return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ').replace('Z', ' UTC');
  }

  const steps = (() => {
    const all = [], second = 1e9, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
    for (let unit = 1; unit < 1e10; unit *= 10) all.push(unit, 2 * unit, 5 * unit);
    for (const s of [10, 20, 30]) all.push(s * second);
    for (const m of [1, 2, 5, 10, 20, 30]) all.push(m * minute);
    for (const h of [1, 2, 3, 6, 12]) all.push(h * hour);
    for (let unit = day; unit < 4e18; unit *= 10) all.push(unit, 2 * unit, 5 * unit);
    return all;
  })();

  // drawAxis draws the ticks and their names, and lines through the rows.
  function drawAxis() {
    paint.font = '10px ' + mono;
    paint.textAlign = 'center';
    const base = Number(from), across = width - labels, scale = across / (view.to - view.from);
    const first = base + view.from, last = base + view.to;
    let step = steps[steps.length - 1];
    for (const s of steps) {
      const longest = Math.max(...[first, last].map((t) => paint.measureText('+' + timeText(Math.ceil(t / s) * s)).width)) + 24;
      if (s * scale >= longest) {
        step = s;
        break;
      }
    }
    for (let t = Math.ceil(first / step) * step; t < last; t += step) {
      const x = labels + (t - first) * scale;
      paint.fillStyle = theme.line;
      paint.fillRect(Math.round(x), axisHeight - 4, 1, height);
      const text = '+' + timeText(t), half = paint.measureText(text).width / 2;
      paint.fillStyle = theme.soft;
      if (x - half >= 0 && x + half <= width) paint.fillText(text, x, 12);
    }
  }

  function drawLabel(row, y) {
    paint.font = '11px ' + mono;
    paint.textAlign = 'right';
    const right = labels - pad, most = Math.floor((labels - 2 * pad) / paint.measureText('m').width);
    let name = row.name, above = row.above;
    if (name.length > most) name = name.slice(0, most - 1) + '…';
    const left = most - name.length;
    if (above.length > left) above = left < 2 ? '' : '…' + above.slice(above.length - left + 1);
    paint.fillStyle = theme.ink;
    paint.fillText(name, right, y + 10);
    paint.fillStyle = theme.soft;
    paint.fillText(above, right - paint.measureText(name).width, y + 10);
    if (row.attributes) paint.fillText(row.attributes.toLocaleString('en') + ' attributes', right, y + 23);
    if (row.range) {
      const [lo, hi] = row.range;
      paint.fillText((lo === hi ? numberText(lo) : numberText(lo) + ' to ' + numberText(hi)).slice(0, most), right, y + 23);
    }
  }

  const numberText = (n) => Number.isInteger(n) && Math.abs(n) < 1e15 ? n.toLocaleString('en') : Number(n.toPrecision(4)).toString();

  // visible calls take with each row in the window, and its place there.
  function visible(take) {
    for (let i = 0; i < rows.length; i++) {
      const y = axisHeight + rows[i].y - scroller.scrollTop;
      if (y + rows[i].height < axisHeight) continue;
      if (y > height) break;
      take(rows[i], y, i);
    }
  }

  let asked = false;
  function draw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      drawNow();
    });
  }

  function drawNow() {
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.fillStyle = theme.paper;
    paint.fillRect(0, 0, width, height);
    drawAxis();
    paint.save();
    paint.beginPath();
    paint.rect(0, axisHeight, width, height - axisHeight);
    paint.clip();
    visible((row, y, i) => {
      paint.fillStyle = cursor && cursor.row === i ? theme.track2 : theme.track;
      paint.fillRect(labels, y, width - labels, row.height);
      drawLabel(row, y);
      if (row.range) drawBars(row, y);
      else drawColors(row, y);
    });
    if (cursor) {
      const x = labels + (cursor.time - view.from) / (view.to - view.from) * (width - labels);
      paint.fillStyle = theme.ink;
      paint.fillRect(Math.round(x), axisHeight, 1, height);
    }
    paint.restore();
    document.getElementById('place').textContent =
      `${offsetText(view.from)} to ${offsetText(view.to - 1)}: ${timeText(Math.round(view.to - view.from))}`;
  }

  // show shows [lo, hi), moved into the range.
  function show(lo, hi) {
    const wide = Math.min(span, Math.max(least, hi - lo));
    const begin = Math.min(span - wide, Math.max(0, lo));
    view.from = begin;
    view.to = begin + wide;
    draw();
  }

  // zoom changes the time shown by a factor; the time at a place, 0 to 1, stays there.
  function zoom(factor, place) {
    const wide = Math.min(span, Math.max(least, (view.to - view.from) * factor));
    const fixed = view.from + place * (view.to - view.from);
    show(fixed - place * wide, fixed - place * wide + wide);
  }

  const pan = (part) => {
    const by = part * (view.to - view.from);
    show(view.from + by, view.to + by);
  };

  // textAt returns what a row has at a time: the state, or the shares of the column of pixels there.
  function textAt(row, t) {
    const each = (view.to - view.from) / Math.max(1, (width - labels) * ratio);
    const path = row.above + row.name;
    const lo = view.from + Math.floor((t - view.from) / each) * each;
    if (row.range && (page.columns > 0 || after(statesOf(row).ends, lo) !== after(statesOf(row).ends, lo + each))) {
      const [found] = numberAt(row, lo, lo + each);
      return path + '\n' + (found ? `${numberText(found.least)} to ${numberText(found.most)}, ${numberText(found.mean)} on average` : 'null') + `\n${offsetText(lo)}, ${dateText(lo)}`;
    }
    const times = new Map();
    let all = 0;
    parts(row, lo, lo + each, (k, time) => {
      times.set(k, (times.get(k) || 0) + time);
      all += time;
    });
    if (page.columns === 0 && times.size <= 1) return path + '\n' + stateText(row, t);
    const lines = [...times].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([k, time]) => `${(100 * time / all).toFixed(1).padStart(5)}%  ${titleOf(k)}`);
    if (times.size > 8) lines.push(`        and ${times.size - 8} more`);
    return [path, ...lines, `${offsetText(lo)} for ${timeText(Math.max(1, Math.round(each)))}, ${dateText(lo)}`].join('\n');
  }

  // stateText returns the state at a time and its interval.
  function stateText(row, t) {
    const s = statesOf(row);
    const i = Math.min(after(s.ends, t), s.ends.length - 1);
    let begin = i === 0 ? -s.before : s.ends[i - 1], end = s.ends[i];
    if (i === s.ends.length - 1) end += s.behind;
    const open = i === s.ends.length - 1 && s.open ? ', and on' : '';
    return `${titleOf(s.codes[i])}\n${offsetText(begin)} for ${timeText(end - begin)}${open}\n${dateText(begin)}`;
  }

  function showTip(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + 'px';
    tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + 'px';
  }

  function rowAt(y) {
    let lo = 0, hi = rows.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (rows[mid].y + rows[mid].height + paper > y) hi = mid;
      else lo = mid + 1;
    }
    return lo;
  }

  const timeOf = (x) => Math.min(span - 1, view.from + (x - labels) / (width - labels) * (view.to - view.from));

  function point(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const i = rowAt(y - axisHeight + scroller.scrollTop);
    if (x < 0 || y < axisHeight || i >= rows.length || y > height) {
      tip.hidden = true;
    } else if (x < labels) {
      showTip(rows[i].above + rows[i].name, event.clientX, event.clientY);
    } else {
      showTip(textAt(rows[i], timeOf(x)), event.clientX, event.clientY);
    }
  }

  canvas.addEventListener('wheel', (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const by = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    if (x < labels || event.shiftKey && event.deltaX === 0) {
      if (event.shiftKey) scroller.scrollTop += by;
      return;
    }
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / (width - labels));
    else zoom(Math.pow(1.0018, by), (x - labels) / (width - labels));
    point(event);
  }, { passive: false });

  let grip = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    grip = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: scroller.scrollTop };
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add('moving');
    setCursor(null);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!grip) {
      point(event);
      return;
    }
    tip.hidden = true;
    const by = (grip.x - event.clientX) / (width - labels) * (grip.to - grip.from);
    if (event.pointerType === 'mouse') scroller.scrollTop = grip.top + grip.y - event.clientY;
    show(grip.from + by, grip.to + by);
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, () => {
      grip = null;
      canvas.classList.remove('moving');
    });
  }
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('dblclick', (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    if (x >= labels) zoom(event.shiftKey ? 4 : 1 / 4, (x - labels) / (width - labels));
  });

  function setCursor(next) {
    cursor = next;
    if (!cursor) {
      tip.hidden = true;
      draw();
      return;
    }
    const row = rows[cursor.row];
    if (row.y < scroller.scrollTop) scroller.scrollTop = row.y;
    const bottom = row.y + row.height + axisHeight - height;
    if (bottom > scroller.scrollTop) scroller.scrollTop = bottom;
    const text = textAt(row, cursor.time);
    const box = canvas.getBoundingClientRect();
    showTip(text, box.left + labels + (cursor.time - view.from) / (view.to - view.from) * (width - labels), box.top + axisHeight + row.y - scroller.scrollTop);
    told.textContent = text;
    draw();
  }

  // read moves the cursor by rows and pixels; the first call puts it into the middle.
  function read(byRow, byTime) {
    if (rows.length === 0) return;
    if (!cursor) {
      setCursor({ row: rowAt(scroller.scrollTop), time: (view.from + view.to) / 2 });
      return;
    }
    const step = (view.to - view.from) / 100;
    const time = Math.min(span - 1, Math.max(0, cursor.time + byTime * step));
    if (time < view.from || time >= view.to) pan(byTime * 0.5);
    setCursor({ row: Math.min(rows.length - 1, Math.max(0, cursor.row + byRow)), time });
  }

  const keys = {
    '+': () => zoom(1 / 1.5, 0.5), '=': () => zoom(1 / 1.5, 0.5), '-': () => zoom(1.5, 0.5), '0': () => show(0, span),
    ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), Home: () => show(0, view.to - view.from), End: () => show(span - view.to + view.from, span),
    ArrowUp: () => { scroller.scrollTop -= 3 * rowHeight; }, ArrowDown: () => { scroller.scrollTop += 3 * rowHeight; },
    PageUp: () => { scroller.scrollTop -= height - axisHeight; }, PageDown: () => { scroller.scrollTop += height - axisHeight; },
    Escape: () => setCursor(null),
  };
  const reads = { ArrowLeft: () => read(0, -1), ArrowRight: () => read(0, 1), ArrowUp: () => read(-1, 0), ArrowDown: () => read(1, 0) };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = event.shiftKey && reads[event.key] || keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.getElementById('in').addEventListener('click', () => zoom(1 / 1.5, 0.5));
  document.getElementById('out').addEventListener('click', () => zoom(1.5, 0.5));
  document.getElementById('all').addEventListener('click', () => show(0, span));
  scroller.addEventListener('scroll', draw);

  // resize fits the canvas into the window.
  function resize() {
    ratio = devicePixelRatio || 1;
    width = scroller.clientWidth;
    height = Math.min(scroller.clientHeight, axisHeight + total + pad);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    room.style.height = Math.max(0, axisHeight + total + pad - height) + 'px';
    paint.font = '11px ' + mono;
    const longest = rows.reduce((n, row) => Math.max(n, row.above.length + row.name.length), 0);
    labels = Math.round(Math.min(Math.max(95, longest * paint.measureText('m').width + 2 * pad), width * 0.3));
    draw();
  }

  // dress takes the colours of the light or the dark theme.
  function dress() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    theme = {
      paper: read('--paper'), ink: read('--ink'), soft: read('--soft'), line: read('--line'), bar: read('--bar'),
      palette: page.palette[dark.matches ? 1 : 0],
      rest: dark.matches ? '#5a5f69' : '#b9bdc4', pale: dark.matches ? '#37516c' : '#cfdff1',
      notch: dark.matches ? 'rgba(23, 25, 30, .75)' : 'rgba(27, 29, 34, .5)',
      track: dark.matches ? 'rgba(255, 255, 255, .045)' : 'rgba(27, 29, 34, .035)',
      track2: dark.matches ? 'rgba(255, 255, 255, .14)' : 'rgba(27, 29, 34, .12)',
    };
    for (const swatch of document.querySelectorAll('.swatch')) {
      const color = swatch.dataset.color;
      if (color === 'others') {
        const [a, b, c] = [15, 14, 12].map((i) => theme.palette[i]);
        swatch.style.background = `linear-gradient(90deg, ${a} 33%, ${b} 33% 66%, ${c} 66%)`;
      } else if (color !== 'bars') {
        swatch.style.background = theme.palette[Number(color)];
      }
    }
    draw();
  }

  dark.addEventListener('change', dress);
  addEventListener('resize', resize);
  dress();
  resize();
})();
