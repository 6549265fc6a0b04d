// The permissions of API keys, and what operations need.

export const permissions = ['full_access', 'sending_access', 'events_only', 'read_only'] as const

export type KeyPermission = (typeof permissions)[number]

/**
 * What an operation needs: to send mail, to read what became of one mail, to read and list sent mail, to post
 * events, to render templates, to read keys, to read anything else, to change anything else.
 */
const needs = [
  'send',
  'read_status',
  'read_mail',
  'post_events',
  'render',
  'read_keys',
  'read',
  'manage',
] as const

export type Need = (typeof needs)[number]

const granted: Record<KeyPermission, readonly Need[]> = {
  full_access: needs,
  sending_access: ['send', 'read_status'],
  events_only: ['post_events'],
  read_only: ['read_status', 'read_mail', 'render', 'read'],
}

/** Whether a key with that permission may call an operation with that need. */
export function mayCall(permission: KeyPermission, need: Need): boolean {
  return granted[permission].includes(need)
}

/** Whether a key with the permission `own` may all that one with `other` may. */
export function mayAllThat(own: KeyPermission, other: KeyPermission): boolean {
  return granted[other].every((need) => mayCall(own, need))
}

/** The permissions that allow calls of that need. */
export function permittedBy(need: Need): KeyPermission[] {
  return permissions.filter((permission) => mayCall(permission, need))
}
