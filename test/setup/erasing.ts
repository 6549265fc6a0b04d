// Contacts of a test's workspace, and their erasure.
import { sql } from 'kysely'
import { expect } from 'vitest'
import type { TestApi } from './api.ts'
import { carryOnErasing } from './traces.ts'
import { uniqueName } from './unique.ts'

export function erasing({ db, deps, request }: TestApi) {
  /** A contact whom an event has made. @returns the address */
  const contact = async (domain = 'person.test'): Promise<string> => {
    const email = `${uniqueName('ada')}@${domain}`
    const event = { event_name: 'seen', email }
    expect((await request('POST', '/v1/automation/events', event)).status).toBe(202)
    return email
  }
  /** Asks for it, and leaves its job to others. @returns the status of the answer */
  const beginErasing = async (email: string): Promise<number> =>
    (await request('DELETE', `/v1/automation/contacts/${encodeURIComponent(email)}`)).status
  /** @returns as `carryOnErasing` */
  const erase = async (email: string): Promise<string> => {
    expect(await beginErasing(email)).toBe(204)
    return carryOnErasing(deps)
  }
  /** The job of the erasure that was asked for last. */
  const newestJob = async () => {
    const { rows } = await sql<{ id: string; status: string; input: Record<string, unknown> }>`
      select id, status, input from jobs where kind = 'erasure' order by id desc limit 1`.execute(
      db,
    )
    return rows[0] ?? { id: '', status: 'none', input: {} }
  }
  return { contact, beginErasing, erase, newestJob }
}
