// Tables of segments of contacts.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Defaulted, JsonColumn } from './columns.ts'

export interface SegmentsTable {
  id: string
  workspace_id: WorkspaceId
  name: string
  /** `Condition` */
  condition: JsonColumn<object>
  /** Segments that the condition names. */
  named_ids: string[]
  /** Rises whenever all members must be found anew; rows of members with another one count for nothing. */
  generation: Defaulted<number>
  /** Whether an active workflow begins at it, so that its members are kept. */
  kept: Defaulted<boolean>
  /** Whether all contacts were looked at: who has no row is no member then. */
  filled: Defaulted<boolean>
  /** Of a kept one: the events and audiences that it reads, by way of other segments too. */
  event_names: Defaulted<string[]>
  audience_ids: Defaulted<string[]>
  created_at: Date
  updated_at: Date
}

/** A member of a kept segment, or a contact who may become one by time alone. */
export interface SegmentMembersTable {
  contact_id: string
  segment_id: string
  workspace_id: WorkspaceId
  /** Of the segment, when the contact was looked at. */
  generation: number
  is_member: boolean
  /** When time alone may change it; null: it does not. A worker that looks puts it off. */
  next_look_at: Date | null
  /** By which clock it was found; null: by a release that did not keep it. */
  looked_at: Defaulted<Date | null>
}

/** A segment whose contacts are looked at one after another: to find its members, or to forget them. */
export interface SegmentFillsTable {
  segment_id: string
  workspace_id: WorkspaceId
  generation: number
  /** The last contact that was looked at; '': none. */
  after_contact_id: Defaulted<string>
  /** A transaction id: those before it may not know yet that the segment is kept; null: not asked yet. */
  fence: Defaulted<string | null>
  /** When it goes on; a worker that has it puts it off. */
  next_at: Date
}
