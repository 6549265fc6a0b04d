// Loaded into a worker before its own code. Where it composes a mail whose subject begins with DIES it ends, as work that
// takes all memory would; where it begins with STALLS it is busy for seconds. A reply with the word DIES ends it, too.

const STALL_MS = 5_000
const { replace } = String.prototype

String.prototype.replace = function (...given) {
  const text = String(this)
  if (/^DIES\b|^550 .*\bDIES\b/.test(text)) process.kill(process.pid, 'SIGKILL')
  if (/^STALLS\b/.test(text)) spin()
  return replace.apply(this, given)
}

function spin() {
  const until = performance.now() + STALL_MS
  while (performance.now() < until);
}
