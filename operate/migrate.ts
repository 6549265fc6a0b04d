// `npm run migrate`: brings the database's schema up to date. Several may run at once: one of them does the work.
import { migrateUrl } from '../db/migrate.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { readArguments } from './arguments.ts'
import { sayFailure } from './failure.ts'

const USAGE = `Usage: npm run migrate
Brings the schema of the database of DATABASE_URL up to date.
`

readArguments({}, USAGE)
const { databaseUrl } = readOperatorConfig(process.env, ['databaseUrl'])
try {
  const ran = await migrateUrl(databaseUrl)
  process.stdout.write(ran.length ? `Migrated: ${ran.join(', ')}\n` : 'The schema is up to date.\n')
} catch (err) {
  sayFailure('The schema was not brought up to date.', err)
}
