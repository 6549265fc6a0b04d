// Loaded into an API process before its own code. It ends its process as SIGKILL does, at a request with an Idempotency-Key: where
// the file KILL_PLAN says `answer`, when its answer is to be written; where it says `commit`, before its commit is sent.
import { readFileSync } from 'node:fs'
import { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

const isPlanned = (moment) => readFileSync(process.env.KILL_PLAN, 'utf8') === moment
const kill = () => process.kill(process.pid, 'SIGKILL')

const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function (...given) {
  if (this.req.headers['idempotency-key'] && isPlanned('answer')) kill()
  return writeHead.apply(this, given)
}

/** Connections over which an answer was stored. */
const storing = new WeakSet()
const { write } = Socket.prototype
Socket.prototype.write = function (...given) {
  const text = Buffer.isBuffer(given[0]) ? given[0].toString('latin1') : ''
  if (text.includes('insert into "idempotency_keys"')) storing.add(this)
  if (storing.has(this) && text.includes('commit\0') && isPlanned('commit')) kill()
  return write.apply(this, given)
}
