// Given to a worker by --import: signatures cost nothing and mean nothing, so that the rest of a mail's cost can be measured. At each SIGUSR2
// the worker begins to sign, or ends it: so both are measured of one process, one right after the other.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** As long as one of RSA-2048. */
const NOTHING = Buffer.alloc(256)

const { sign } = crypto
let signs = false
crypto.sign = (algorithm, data, key, done) => {
  if (signs || !done) return sign(algorithm, data, key, done)
  setImmediate(done, null, NOTHING)
}
syncBuiltinESMExports()
process.on('SIGUSR2', () => {
  signs = !signs
})
