// How long breakers were open. Pure.

/** A time during which a breaker was open; `to` null: it still is. In ms. */
export interface OpenTime {
  readonly from: number
  readonly to: number | null
}

/** How much of the time from `since` to `now` at least one of these was open, in ms. Their order does not matter. */
export function openWithin(times: readonly OpenTime[], since: number, now: number): number {
  let open_ms = 0
  let counted = since
  for (const { from, to } of [...times].sort((a, b) => a.from - b.from)) {
    const begins = Math.max(from, counted)
    const ends = Math.min(to ?? now, now)
    if (ends <= begins) continue
    open_ms += ends - begins
    counted = ends
  }
  return open_ms
}
