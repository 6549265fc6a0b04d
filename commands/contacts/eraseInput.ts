// What the row of an erasure says, which is all that is left of the address while the job goes on.
import type { Erased } from '../../db/contacts/erase.ts'
import type { JobRow } from '../../db/jobs/reads.ts'
import type { CommandDeps } from '../deps.ts'

/** `address` is encrypted, base64; `hmac` hex; `at` ms. */
export type EraseInput = {
  contact_id: string
  address: string
  hmac: string
  delivery_id: number
  webhook_event_id: string
  at: number
  /** Absent: none, or written by a process of before, which did not look. */
  members?: string[]
  /** Transactions that may still write what they had read before, by their virtual ids. Absent: it was not asked for yet. */
  waits_for?: string[]
}

type Secrets = Pick<CommandDeps, 'secrets'>

export const toInput = (
  { secrets }: Secrets,
  { contactId, email, deliveryId, webhookEventId, at, members }: Erased,
  hmac: Buffer,
): EraseInput => ({
  contact_id: contactId,
  address: secrets.encrypt('erasure', Buffer.from(email)).toString('base64'),
  hmac: hmac.toString('hex'),
  delivery_id: deliveryId,
  webhook_event_id: webhookEventId,
  at: at.getTime(),
  members: [...members],
})

/** @throws SecretError if the address was encrypted with a SECRET_KEY that is not listed any more */
export const ofInput = ({ secrets }: Secrets, input: EraseInput): Erased & { hmac: Buffer } => ({
  contactId: input.contact_id,
  email: secrets.decrypt('erasure', Buffer.from(input.address, 'base64')).toString(),
  deliveryId: input.delivery_id,
  webhookEventId: input.webhook_event_id,
  at: new Date(input.at),
  members: input.members ?? [],
  hmac: Buffer.from(input.hmac, 'hex'),
})

/** What stays in the row of a job that is completed: no trace of the address. */
export const inputOfOver = ({ input }: Pick<JobRow, 'input'>): string =>
  JSON.stringify({ contact_id: (input as EraseInput).contact_id })
