// What npm start prints: lines that stay, and lines that say how far something is. Plain Node: npm ci comes before tsx.

/** Between two lines about one thing where they cannot be rewritten in place. */
const PRINT_EVERY_MS = 10_000
const REDRAW_EVERY_MS = 500
/** Nothing that takes less is worth a line. */
const QUIET_MS = 2_000
const COLUMNS = 80
const CLEAR_LINE = '\r\u001b[K'

/**
 * Prints each line with the seconds since this process began and the part that it is about. On a terminal the last line
 * is rewritten in place while something goes on; elsewhere such a line is printed every ten seconds.
 */
export function createConsole(out = process.stdout, now_ms = () => performance.now()) {
  /** By part: what is going on, and when it was last printed. */
  const going = new Map()
  let isDrawn = false
  const line = (part, text) =>
    `${(now_ms() / 1000).toFixed(1).padStart(5)} s  ${part.padEnd(9)} ${text}`

  function clear() {
    if (isDrawn) out.write(CLEAR_LINE)
    isDrawn = false
  }

  function draw() {
    if (!out.isTTY || going.size === 0) return
    const [[first, { text }], ...others] = going
    const texts = [text, ...others.map(([part, other]) => `${part} ${other.text}`)]
    out.write(CLEAR_LINE + line(first, texts.join(' | ')).slice(0, (out.columns || COLUMNS) - 1))
    isDrawn = true
  }

  function print(part, text) {
    clear()
    out.write(`${line(part, text)}\n`)
    draw()
  }

  function progress(part, text) {
    const known = going.get(part)
    const printed_ms = known ? known.printed_ms : now_ms()
    const isDue = !out.isTTY && now_ms() - printed_ms >= PRINT_EVERY_MS
    going.set(part, { text, printed_ms: isDue ? now_ms() : printed_ms })
    if (isDue) print(part, text)
    else draw()
  }

  function done(part) {
    clear()
    going.delete(part)
    draw()
  }

  return {
    /** The lines of one part. */
    part: (name) => ({
      say: (text) => print(name, text),
      progress: (text) => progress(name, text),
      done: () => done(name),
    }),
    /** Text as it is, below all lines. */
    write(text) {
      clear()
      out.write(text)
      draw()
    },
  }
}

/**
 * Waits for `work`; once it takes longer than two seconds, what `describe` says of the seconds that went by is shown.
 * @returns what `work` resolves to
 */
export async function showing(part, describe, work) {
  const begin = performance.now()
  const timer = setInterval(() => {
    const passed_ms = performance.now() - begin
    if (passed_ms > QUIET_MS) part.progress(describe(Math.round(passed_ms / 1000)))
  }, REDRAW_EVERY_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
    part.done()
  }
}
