// Request bodies of the load, the same for the API and for the reference without it.

export const EVENT_NAME = 'order.placed'
export const SENDER = 'Bench <hello@sender.test>'

/** Number of contacts that events are posted for; all of them exist beforehand. */
export const CONTACTS = 10_000

export function contactEmail(serial: number): string {
  // A step without a common divisor with CONTACTS visits all contacts, in a scattered order.
  return `contact-${(serial * 7_919) % CONTACTS}@example.test`
}

export function eventBody(serial: number) {
  return {
    event_name: EVENT_NAME,
    email: contactEmail(serial),
    properties: { order_id: `order-${serial}`, total: 49.9, items: ['blue shirt', 'white cap'] },
  }
}

/** Recipients at a few hundred domains, as in a real application. None is an automation contact. */
export function emailBody(serial: number) {
  return {
    from: SENDER,
    to: `user-${serial}@mail-${serial % 300}.example.test`,
    subject: `Your receipt ${serial}`,
    html: HTML,
  }
}

/** About two kilobytes, like a receipt. */
export const HTML = `<!doctype html><html><body style="font-family: sans-serif"><h1>Thank you</h1>${Array.from(
  { length: 24 },
  (_, line) =>
    `<p>Line ${line + 1} of this receipt says what was bought, when, and for how much.</p>`,
).join(
  '\n',
)}<p><a href="https://shop.example.test/orders">See all your orders</a></p></body></html>`

/** Items of one batch: as many as the statements of its reference have rows. */
export const BATCH = 100

/** An email of a batch: two kilobytes of html and of text. */
export const batchEmail = (serial: number) => ({ ...emailBody(serial), text: TEXT })

const TEXT = HTML.slice(0, 2_048)
/** What all emails of batches have in common, as the end of an object's JSON. */
const COMMON = Buffer.from(`,${JSON.stringify({ html: HTML, text: TEXT }).slice(1)}`)

/**
 * The JSON of `batchEmail`, in pieces. What all have in common is made once: to write it out for each took the processor more than a
 * millisecond for a batch, which is none of what is measured.
 */
export function batchEmailJson(serial: number): Buffer[] {
  const { html: _, ...own } = emailBody(serial)
  return [Buffer.from(JSON.stringify(own).slice(0, -1)), COMMON]
}
