// What the load posts: the same bodies for the API and for the statements that are replayed without it.

export const EVENT_NAME = 'order.placed'
export const SENDER = 'Bench <hello@sender.test>'

/** Contacts that events are posted for: known ones, each met again now and then. */
export const CONTACTS = 10_000

export function contactEmail(serial: number): string {
  // A stride that is prime to the number visits all of them, neighbours far apart.
  return `contact-${(serial * 7_919) % CONTACTS}@example.test`
}

export function eventBody(serial: number) {
  return {
    event_name: EVENT_NAME,
    email: contactEmail(serial),
    properties: { order_id: `order-${serial}`, total: 49.9, items: ['blue shirt', 'white cap'] },
  }
}

/** Recipients at a few hundred domains, as an application's own are; none is an automation contact. */
export function emailBody(serial: number) {
  return {
    from: SENDER,
    to: `user-${serial}@mail-${serial % 300}.example.test`,
    subject: `Your receipt ${serial}`,
    html: HTML,
  }
}

/** About two kilobytes, as a receipt is. */
export const HTML = `<!doctype html><html><body style="font-family: sans-serif"><h1>Thank you</h1>${Array.from(
  { length: 24 },
  (_, line) =>
    `<p>Line ${line + 1} of this receipt says what was bought, when, and for how much.</p>`,
).join(
  '\n',
)}<p><a href="https://shop.example.test/orders">See all your orders</a></p></body></html>`
