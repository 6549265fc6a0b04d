// `npm run re-encrypt`: encrypts with SECRET_KEY what earlier keys have encrypted, so that those can be dropped.
import { reEncryptAll } from '../commands/secrets/reEncrypt.ts'
import { connect } from '../db/connect.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { createSecrets } from '../runtime/secrets.ts'
import { readArguments } from './arguments.ts'

const USAGE = `Usage: npm run re-encrypt
Encrypts with SECRET_KEY what the keys in SECRET_KEY_PREVIOUS have encrypted: the DKIM keys of all domains, the key by
which it is known who has left, the secrets of designs and of webhooks, and the addresses that are being erased. Run it once every
process has the new SECRET_KEY. It may be run again at any time.
Needs DATABASE_URL, SECRET_KEY and SECRET_KEY_PREVIOUS. Exits 1 if there is a key that none of them opens.
`

readArguments({}, USAGE)
const config = readOperatorConfig(process.env, ['databaseUrl', 'secretKey', 'secretKeysPrevious'])
const bytes = (key: string) => Buffer.from(key, 'base64')
const secrets = createSecrets(bytes(config.secretKey), config.secretKeysPrevious.map(bytes))
const { db } = connect({
  url: config.databaseUrl,
  poolSize: 1,
  name: 'dripline-re-encrypt',
  onIdleError: () => undefined,
})
try {
  const { changed, current, unread } = await reEncryptAll({ db, secrets, wake: () => undefined })
  process.stdout.write(
    `${changed} keys encrypted anew; ${current} are encrypted with SECRET_KEY.\n`,
  )
  if (unread.length === 0) process.stdout.write('Nothing is left that needs another key.\n')
  else {
    const ids = unread.map((id) => `  ${id}\n`).join('')
    process.stderr.write(
      `No key of SECRET_KEY and SECRET_KEY_PREVIOUS opens these:\n${ids}` +
        'List the value that they were encrypted with, and say it again.\n',
    )
    process.exitCode = 1
  }
} catch (err) {
  process.stderr.write(
    `Not all keys were encrypted anew: ${err instanceof Error ? err.message : String(err)}\n` +
      'Check DATABASE_URL, and that Postgres answers, then say it again: nothing is lost by that.\n',
  )
  process.exitCode = 1
} finally {
  await db.destroy()
}
