// The permissions of API keys, and what operations need.

export const permissions = ['full_access', 'sending_access', 'events_only', 'read_only'] as const

export type KeyPermission = (typeof permissions)[number]

/**
 * What an operation needs: to send mail, to read sent mail, to post events, to read anything else, to change
 * anything else.
 */
const needs = ['send', 'read_mail', 'post_events', 'read', 'manage'] as const

export type Need = (typeof needs)[number]

const granted: Record<KeyPermission, readonly Need[]> = {
  full_access: needs,
  sending_access: ['send', 'read_mail'],
  events_only: ['post_events'],
  read_only: ['read_mail', 'read'],
}

/** Whether a key with that permission may call an operation with that need. */
export function mayCall(permission: KeyPermission, need: Need): boolean {
  return granted[permission].includes(need)
}

/** The permissions that allow calls of that need. */
export function permittedBy(need: Need): KeyPermission[] {
  return permissions.filter((permission) => mayCall(permission, need))
}
