// A submitted message may hide a NUL in an encoded part. Postgres stores none, and links of many emails are stored together.
import { tmpdir } from 'node:os'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createComposer } from '../../delivery/compose/composer.ts'
import { readMessage } from '../../inbound/submission/message.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { bytesOf } from '../setup/storedBytes.ts'
import { unwatched } from '../setup/unwatched.ts'

const { db } = await createTestDatabase()
const { workspaceId, domainId } = await seedWorkspace(db)
const useEmail = createComposer({
  db,
  wake: () => {},
  now,
  config: { publicUrl: 'https://mail.test', stateFolder: tmpdir() },
  secrets: createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64')),
  blame: unwatched,
} as unknown as Parameters<typeof createComposer>[0])

const accept = (html: string | null) =>
  acceptMail({ db, workspaceId, domainId }, { html, track_clicks: true })
const compose = (id: string) =>
  useEmail(id, async ({ message }) => (await bytesOf(message)).toString(), {
    id: 7,
    to_team: false,
  })

test('a link with an encoded NUL is not tracked, and keeps no email from being sent', async () => {
  const lines = [
    ...['From: a@sender.test', 'To: b@mail.test', 'Subject: x', 'MIME-Version: 1.0'],
    ...['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable'],
    ...['', '<a href=3D"https://shop.test/=00z">x</a> <a href=3D"https://shop.test/y">y</a>', ''],
  ]
  const raw = Buffer.from(lines.join('\r\n'))
  const { sourceWith } = await readMessage(raw, ['b@mail.test'], now())
  const submitted = await accept(null)
  const content = sourceWith({ messageId: `${submitted}@sender.test`, date: now() })
  await db
    .insertInto('email_sources')
    .values({ email_id: submitted, position: 0, content })
    .execute()
  const another = await accept('<a href="https://other.test/">x</a>')

  const [bytes] = await Promise.all([compose(submitted), compose(another)])
  expect(bytes).toContain('https://shop.test/=00z')
  const links = await db.selectFrom('email_links').select('urls').orderBy('email_id').execute()
  expect(links).toEqual([{ urls: ['https://shop.test/y'] }, { urls: ['https://other.test/'] }])
})

test('links that Postgres refuses keep no other email from being sent', async () => {
  const refused = await accept('<a href="https://shop.test/">x</a>')
  const another = await accept('<a href="https://other.test/">x</a>')
  await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(
    db,
  )
  await sql`create trigger refuse before insert on email_links for each row when (new.email_id = ${sql.lit(refused)})
    execute function refuse()`.execute(db)
  const [first, second] = await Promise.allSettled([compose(refused), compose(another)])
  expect(first).toMatchObject({ status: 'rejected', reason: { message: 'refused' } })
  expect(second).toMatchObject({ status: 'fulfilled' })
})
