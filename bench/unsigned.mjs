// Given to a worker by --import: signatures cost nothing and mean nothing, so that the rest of a mail's cost can be measured.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** As long as one of RSA-2048. */
const NOTHING = Buffer.alloc(256)

const { sign } = crypto
crypto.sign = (algorithm, data, key, done) => {
  if (!done) return sign(algorithm, data, key)
  setImmediate(done, null, NOTHING)
}
syncBuiltinESMExports()
