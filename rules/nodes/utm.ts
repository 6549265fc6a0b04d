// The field `utm` of a mail: what its links tell the sites that they lead to.
import { z } from 'zod'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkLiquid, checkText, isGiven } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { mustBeOneOf, shownText, typeName } from '../shown.ts'

const value = z.string().max(limits.nameCharsMax)

export const utm = z
  .object({
    source: value.describe('Liquid: `utm_source`, such as `newsletter`').exactOptional(),
    medium: value.describe('Liquid: `utm_medium`, such as `email`').exactOptional(),
    campaign: value.describe('Liquid: `utm_campaign`, such as `spring`').exactOptional(),
    term: value.describe('Liquid: `utm_term`').exactOptional(),
    content: value.describe('Liquid: `utm_content`').exactOptional(),
  })
  .describe(
    'Added as `utm_…` parameters to the `http` and `https` links of the HTML, before they are tracked. What a link has already ' +
      'stays; the links to unsubscribe and those with `data-dripline-track="false"` stay as they are',
  )
export type Utm = z.infer<typeof utm>

/** In the order in which links get them. */
export const utmNames = Object.keys(utm.shape) as (keyof Utm)[]

/** Every problem of the key `utm`; none when it is absent. */
export function checkUtm(at: CheckAt): Problem[] {
  const given = at.data['utm']
  if (!isGiven(given)) return []
  if (!isJsonObject(given)) {
    const message = `utm must be an object with any of ${utmNames.join(', ')}, not ${typeName(given)}`
    return problemAt(at, 'utm', 'bad_value', message)
  }
  const inner: CheckAt = { ...at, path: `${at.path}.utm`, data: given }
  return Object.keys(given).flatMap((name) => {
    if (!utmNames.some((known) => known === name)) {
      const message = `a name in utm ${mustBeOneOf(utmNames, name)}`
      return problemAt(inner, shownText(name), 'bad_value', message)
    }
    const tooLong = checkText(inner, name, limits.nameCharsMax)
    return tooLong.length > 0 ? tooLong : checkLiquid(inner, name)
  })
}
