// Has sockets write at the end of a turn of the event loop, one right after the other. Small writes that are apart in time each wake
// whoever takes them up, the kernel or a process beside this one, which costs as much as all else that a small request needs.
import type { Writable } from 'node:stream'

const gathered: Writable[] = []

/** What is written to it in the rest of this turn is handed over when the turn ends, after what was gathered before. */
export function gatherWrites(socket: Writable): void {
  socket.cork()
  if (gathered.push(socket) === 1) setImmediate(writeAll)
}

function writeAll(): void {
  for (const socket of gathered.splice(0)) socket.uncork()
}
