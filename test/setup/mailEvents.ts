// Mail events in tests: runs the pump once, and locks contacts.
import pg from 'pg'
import { type TellDeps, tellContacts } from '../../commands/events/tellContacts.ts'
import { listMailEventWorkspaces } from '../../db/deliveries/mailEventClaims.ts'

/** Records all due mail events, like the pump. @returns how many left the outbox */
export async function tellAll(deps: TellDeps): Promise<number> {
  let all = 0
  for (;;) {
    const { due } = await listMailEventWorkspaces(deps.db, '', deps.now())
    let told = 0
    for (const workspaceId of due) told += (await tellContacts(deps, workspaceId)).told
    if (told === 0) return all
    all += told
  }
}

/** Runs work while another connection locks the row of each contact with that address (in any workspace). */
export async function holdContact<T>(
  url: string,
  email: string,
  work: () => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'holder' })
  await client.connect()
  try {
    await client.query('begin')
    const held = await client.query('select from contacts where email = $1 for update', [email])
    if (held.rowCount === 0) throw new Error(`no contact ${email} to hold`)
    return await work()
  } finally {
    await client.end()
  }
}
