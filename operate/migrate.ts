// `npm run migrate`: brings the database's schema up to date. May run beside others: one of them does the work.
import { migrateUrl } from '../db/migrate.ts'

const url = process.env['DATABASE_URL']
if (!url) {
  process.stderr.write(
    'DATABASE_URL is missing: set it to postgres://user:password@host/database\n',
  )
  process.exit(1)
}
const ran = await migrateUrl(url)
process.stdout.write(ran.length ? `Migrated: ${ran.join(', ')}\n` : 'The schema is up to date.\n')
