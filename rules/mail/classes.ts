// The class of an email, and what receivers are told by it: Feedback-ID and the headers of automatic mail.

/** The classes in the order in which they go first. The ledger stores their places, so they stay in this order. */
export const mailClasses = ['transactional', 'automation', 'broadcast'] as const

/** The places of the classes, as the ledger stores them. */
export const classPlaces: readonly number[] = mailClasses.map((_, place) => place)

/** The place of a class, as the ledger stores it. */
export const placeOfClass = (name: MailClass): number => mailClasses.indexOf(name)

/** How many places of ten a class gets, while the others need theirs. In the order of `mailClasses`. */
export const classWeights = [6, 3, 1] as const

/** Decides order, brakes, warm-up, and what follows an unknown outcome. */
export type MailClass = (typeof mailClasses)[number]

/** The columns of an email that its class is made from. */
export interface ClassedEmail {
  type: 'transactional' | 'broadcast'
  category: 'transactional' | 'marketing'
  /** null: no workflow sent it. */
  workflow_id: string | null
}

/**
 * The class of an email: `broadcast` for mail of a broadcast; `transactional` for what the API sent and for nodes whose
 * category is transactional; `automation` for the other mail of workflows.
 */
export function mailClass({ type, category, workflow_id }: ClassedEmail): MailClass {
  if (type === 'broadcast') return 'broadcast'
  return workflow_id === null || category === 'transactional' ? 'transactional' : 'automation'
}

/**
 * The Feedback-ID by which Gmail's Postmaster Tools and feedback loops count: `class:source:workspace:dripline`. Its
 * parts are the same for all mail of one source, since a value that stands in one mail alone counts nothing.
 */
export function feedbackId(email: ClassedEmail & { workspace_id: string }): string {
  const source = email.workflow_id ?? (email.type === 'broadcast' ? 'broadcast' : 'api')
  return `${mailClass(email)}:${source}:${email.workspace_id}:dripline`
}

/**
 * How automatic an email is to those who answer automatically (RFC 3834 section 5): `no` for mail of the API, whose
 * sender sets such headers themselves; `single` for transactional mail of a workflow; `bulk` for marketing.
 */
export type Automatic = 'no' | 'single' | 'bulk'

export function automaticOf(email: ClassedEmail): Automatic {
  if (email.type === 'transactional' && email.workflow_id === null) return 'no'
  return mailClass(email) === 'transactional' ? 'single' : 'bulk'
}
