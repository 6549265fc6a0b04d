// What the mail of a design is made from: published templates and sending domains, in two queries.
import { maySendFrom } from '../domain/states.ts'
import type { Db } from './connect.ts'
import { type SendingDomain, trackingHost } from './emails.ts'

/** The published versions of templates, by the id or alias that the design names. */
export async function listPublishedTemplates(db: Db, workspaceId: string, names: string[]) {
  if (names.length === 0) return new Map<string, PublishedTemplate>()
  const rows = await db
    .selectFrom('templates as t')
    .innerJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.published_version'),
    )
    .select([
      't.id',
      't.alias',
      'v.subject',
      'v.from',
      'v.reply_to',
      'v.preview_text',
      'v.html',
      'v.text',
    ])
    .where('t.workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('t.id', 'in', names), eb('t.alias', 'in', names)]))
    .execute()
  const found = new Map<string, PublishedTemplate>()
  for (const row of rows) {
    if (row.alias !== null && names.includes(row.alias)) found.set(row.alias, row)
    if (names.includes(row.id)) found.set(row.id, row)
  }
  return found
}

export interface PublishedTemplate {
  id: string
  subject: string | null
  from: string | null
  reply_to: string | null
  preview_text: string | null
  html: string | null
  text: string | null
}

export type SegmentDomain = SendingDomain & { name: string; verified: boolean }

/** The workspace's domains of those names, and whether each may send. */
export async function listSendingDomains(db: Db, workspaceId: string, names: string[]) {
  if (names.length === 0) return new Map<string, SegmentDomain>()
  const rows = await db
    .selectFrom('domains')
    .select(['id', 'name', 'status', 'open_tracking_enabled', 'click_tracking_enabled'])
    .select(trackingHost.as('tracking_host'))
    .where('workspace_id', '=', workspaceId)
    .where('name', 'in', names)
    .where('deleted_at', 'is', null)
    .execute()
  return new Map(rows.map((row) => [row.name, { ...row, verified: maySendFrom(row.status) }]))
}
