/// A trace as a page that draws it: for those who have no Perfetto. It loads nothing, and works from a file.
enum TimelinePage {
  /// - Parameter trace: Chrome's trace events, as a process answers them.
  static func text(_ trace: String, of target: String) -> String {
    // In JSON these stand in strings alone, where they may be written otherwise; in a page they could end the script.
    let data = escaped(trace, "<", as: "\\u003c")
    let title = escaped(escaped(target, "&", as: "&amp;"), "<", as: "&lt;")
    return "\(head)<title>\(title)</title>\n\(body)<script type=\"application/json\" id=\"trace\">\(data)</script>\n"
      + "<script>\n\(script)</script>\n"
  }

  /// By scalars, as a browser reads: a `<` behind a mark that joins what follows is no character of its own.
  static func escaped(_ text: String, _ scalar: Unicode.Scalar, as replacement: String) -> String {
    var escaped = String.UnicodeScalarView()
    for next in text.unicodeScalars {
      if next == scalar { escaped += replacement.unicodeScalars } else { escaped.append(next) }
    }
    return String(escaped)
  }

  private static let head = """
    <!doctype html>
    <meta charset="utf-8">

    """

  private static let body = """
    <style>
    body { margin: 0; font: 12px sans-serif; background: #fff; color: #222; overflow: hidden }
    #bar { height: 24px; line-height: 24px; padding: 0 8px; background: #eee; white-space: nowrap; overflow: hidden }
    #tip { position: fixed; display: none; pointer-events: none; background: #222; color: #fff; padding: 4px 8px;
      border-radius: 3px; white-space: pre; max-width: 90vw }
    canvas { display: block }
    </style>
    <div id="bar">Wheel: zoom. Drag: move. Double click: everything. <span id="about"></span></div>
    <canvas id="picture"></canvas>
    <div id="tip"></div>

    """

  private static let script = """
    'use strict';
    const trace = JSON.parse(document.getElementById('trace').textContent);
    const laneHeight = 16, margin = 150, top = 20;

    // Spans with a depth, by thread; arrows from a post to its callout. Times are microseconds.
    function read(events) {
      const threads = new Map(), starts = new Map(), arrows = [];
      let first = Infinity, last = -Infinity;
      const thread = id => {
        if (!threads.has(id)) threads.set(id, {id, name: 'thread ' + id, spans: [], open: [], depth: 0});
        return threads.get(id);
      };
      for (const event of events) {
        const own = thread(event.tid);
        if (event.ph === 'M') { own.name = event.args.name; continue; }
        first = Math.min(first, event.ts);
        last = Math.max(last, event.ts + (event.dur || 0));
        if (event.ph === 'B') {
          const span = {name: event.name, kind: event.cat, from: event.ts, to: null, depth: own.open.length,
            args: event.args || {}};
          own.open.push(span);
          own.spans.push(span);
          own.depth = Math.max(own.depth, own.open.length);
        } else if (event.ph === 'E') {
          const span = own.open.pop();
          if (span) { span.to = event.ts; Object.assign(span.args, event.args); }
        } else if (event.ph === 'X') {
          own.spans.push({name: event.name, kind: 'post', from: event.ts, to: event.ts + event.dur,
            depth: own.open.length, args: {}});
          own.depth = Math.max(own.depth, own.open.length + 1);
        } else if (event.ph === 's') {
          starts.set(event.id, {thread: own, time: event.ts, depth: own.open.length});
        } else if (event.ph === 'f' && starts.has(event.id)) {
          arrows.push({from: starts.get(event.id), to: {thread: own, time: event.ts, depth: own.open.length}});
          starts.delete(event.id);
        }
      }
      // What is still under way ends with the trace.
      for (const own of threads.values()) for (const span of own.open) span.to = last;
      let y = top;
      for (const own of threads.values()) { own.y = y; y += (Math.max(own.depth, 1) + 1) * laneHeight; }
      if (!(first < last)) [first, last] = [0, 1];
      return {threads: [...threads.values()], arrows, first, last};
    }

    function duration(time) {
      if (time < 1) return Math.round(time * 1000) + ' ns';
      return time < 1000 ? time.toFixed(2) + ' us' : time < 1e6 ? (time / 1000).toFixed(2) + ' ms'
        : (time / 1e6).toFixed(3) + ' s';
    }

    const colors = {turn: '#d5dbe3', phase: '#b9cbe0', wait: '#f0f0f0', post: '#c0392b', timer: '#7fb069',
      timeout: '#7fb069', descriptor: '#5b9bd5', source: '#e0a030', block: '#c080c0', job: '#d07070',
      observer: '#90a4ae', 'main queue': '#50b0a0'};
    const data = read(trace.traceEvents);
    let from = data.first, to = data.last;
    const picture = document.getElementById('picture');
    const tip = document.getElementById('tip');

    function x(time) { return margin + (time - from) / (to - from) * (innerWidth - margin); }
    function time(x) { return from + (x - margin) / (innerWidth - margin) * (to - from); }

    function draw() {
      picture.width = innerWidth;
      picture.height = innerHeight - 24;
      const pen = picture.getContext('2d');
      pen.font = '11px sans-serif';
      pen.textBaseline = 'middle';
      pen.fillStyle = '#888';
      for (let part = 0; part < 8; part++) {
        const place = margin + part / 8 * (innerWidth - margin);
        pen.fillText('+' + duration(time(place) - data.first), place, 8);
        pen.fillRect(place, top - 4, 1, picture.height);
      }
      for (const own of data.threads) {
        let filled = [];
        for (const span of own.spans) {
          if (span.to < from || span.from > to) continue;
          const left = Math.max(x(span.from), margin), right = Math.min(x(span.to), innerWidth);
          // What would lie on the same point as another one of its depth is not drawn.
          if (right - left < 1 && filled[span.depth] === Math.floor(left)) continue;
          filled[span.depth] = Math.floor(left);
          const y = own.y + span.depth * laneHeight, width = Math.max(right - left, 1);
          pen.fillStyle = colors[span.kind] || '#ccc';
          pen.fillRect(left, y, width, laneHeight - 1);
          if (width > 30) {
            pen.save();
            pen.beginPath();
            pen.rect(left, y, width - 2, laneHeight);
            pen.clip();
            pen.fillStyle = '#222';
            pen.fillText(span.name, left + 3, y + laneHeight / 2);
            pen.restore();
          }
        }
        pen.fillStyle = '#fff';
        pen.fillRect(0, own.y, margin - 2, (own.depth + 1) * laneHeight);
        pen.fillStyle = '#222';
        pen.fillText(own.name.slice(0, 24), 6, own.y + laneHeight / 2);
      }
      pen.strokeStyle = 'rgba(192, 57, 43, 0.5)';
      const seen = data.arrows.filter(({from: begin, to: end}) => end.time >= from && begin.time <= to);
      // Thousands of arrows say nothing.
      for (const {from: begin, to: end} of seen.length > 500 ? [] : seen) {
        pen.beginPath();
        pen.moveTo(x(begin.time), begin.thread.y + (begin.depth + 0.5) * laneHeight);
        pen.lineTo(x(end.time), end.thread.y + Math.max(end.depth - 0.5, 0.5) * laneHeight);
        pen.stroke();
      }
    }

    function find(px, py) {
      const own = data.threads.find(own => py >= own.y && py < own.y + (own.depth + 1) * laneHeight);
      if (!own) return null;
      const depth = Math.floor((py - own.y) / laneHeight), slack = (to - from) / (innerWidth - margin);
      return own.spans.find(span =>
        span.depth === depth && span.from - slack <= time(px) && span.to + slack >= time(px)) || null;
    }

    let dragged = null;
    picture.onmousedown = event => { dragged = {x: event.clientX, from, to}; };
    window.onmouseup = () => { dragged = null; };
    picture.onmousemove = event => {
      if (dragged) {
        const shift = (event.clientX - dragged.x) / (innerWidth - margin) * (dragged.to - dragged.from);
        [from, to] = [dragged.from - shift, dragged.to - shift];
        return draw();
      }
      const span = find(event.clientX, event.clientY - 24);
      tip.style.display = span ? 'block' : 'none';
      if (!span) return;
      const details = Object.entries(span.args).map(([name, value]) => '\\n' + name + ' ' + value).join('');
      tip.textContent = `${span.kind} ${span.name}\\n${duration(span.to - span.from)}${details}`;
      tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + 'px';
      tip.style.top = event.clientY + 12 + 'px';
    };
    picture.onwheel = event => {
      event.preventDefault();
      const factor = Math.exp(event.deltaY / 500), middle = time(Math.max(event.clientX, margin));
      [from, to] = [middle - (middle - from) * factor, middle + (to - middle) * factor];
      draw();
    };
    picture.ondblclick = () => { [from, to] = [data.first, data.last]; draw(); };
    window.onresize = draw;
    document.getElementById('about').textContent = data.threads.length + ' threads, '
      + data.threads.reduce((sum, own) => sum + own.spans.length, 0) + ' spans, ' + duration(data.last - data.first)
      + (trace.otherData.lost ? ', ' + trace.otherData.lost + ' events lost' : '');
    draw();

    """
}
