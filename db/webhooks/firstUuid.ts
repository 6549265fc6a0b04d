// Where a time begins in the order of the ids of webhook events and deliveries, which are uuids.

/** The smallest uuid of that time, of those that begin with it. */
export function firstUuid(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
