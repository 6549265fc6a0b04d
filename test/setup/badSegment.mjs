// Loaded into a worker before its own code. When its main thread enters the node `heavy` of an execution that the file
// BAD_EXECUTIONS names (`ID dies` or `ID stalls`), it ends, as work that takes all memory would, or is busy for seconds.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const STALL_MS = 5_000
const { writeSync } = fs

fs.writeSync = (fd, data, ...more) => {
  const written = writeSync(fd, data, ...more)
  if (Buffer.isBuffer(data)) {
    const { id, step } = markOf(data)
    const what = step === 'heavy' ? faultOf(id) : undefined
    if (what === 'dies') process.kill(process.pid, 'SIGKILL')
    if (what === 'stalls') spin()
  }
  return written
}
syncBuiltinESMExports()

/** The mark in a line of a state file. */
function markOf(line) {
  try {
    return JSON.parse(line.toString('utf8')) ?? {}
  } catch {
    return {}
  }
}

function faultOf(id) {
  const lines = fs.readFileSync(process.env.BAD_EXECUTIONS, 'utf8').split('\n')
  return lines.find((line) => line.startsWith(`${id} `))?.split(' ')[1]
}

function spin() {
  const until = performance.now() + STALL_MS
  while (performance.now() < until);
}
