// `npm run outbox`: shows what waits for Temporal, and what Temporal has refused. It changes nothing.
import { connect } from '../db/connect.ts'
import { listRefused, listWaitingKinds } from '../db/outboxReads.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { readArguments } from './arguments.ts'
import { outboxLines } from './outboxTable.ts'

const REFUSED_MAX = 100

const USAGE = `Usage: npm run outbox
Shows what waits for Temporal, and up to ${REFUSED_MAX} rows that Temporal has refused. Needs DATABASE_URL.
`

readArguments({}, USAGE)
const config = readOperatorConfig(process.env, ['databaseUrl'])
const { db } = connect({
  url: config.databaseUrl,
  poolSize: 2,
  name: 'dripline-outbox',
  onIdleError: () => undefined,
})
try {
  const [waiting, refused] = await Promise.all([
    listWaitingKinds(db),
    listRefused(db, REFUSED_MAX + 1),
  ])
  const lines = outboxLines({ waiting, refused }, REFUSED_MAX, new Date())
  process.stdout.write(`${lines.join('\n')}\n`)
} catch (err) {
  process.stderr.write(
    `The outbox could not be read: ${err instanceof Error ? err.message : String(err)}\n` +
      'Check DATABASE_URL, and that Postgres answers.\n',
  )
  process.exitCode = 1
} finally {
  await db.destroy()
}
