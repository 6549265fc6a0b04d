// Interleaved rounds: subject, reference, subject, reference ... so that a drift of the machine meets both.
import { rounded } from './report.ts'

export interface Sides {
  rounds: number
  unit: string
  /** One measurement of what is judged. */
  subject: (round: number) => Promise<number>
  /** One measurement of what it is held against, right after it. */
  reference: (round: number) => Promise<number>
  say: (line: string) => void
}

/** Measures both sides in turn; @returns one pair for each round */
export async function interleave(
  sides: Sides,
): Promise<[{ subject: number; reference: number }, ...{ subject: number; reference: number }[]]> {
  const measure = async (round: number) => {
    const subject = await sides.subject(round)
    const reference = await sides.reference(round)
    const ratio = rounded(subject / reference)
    const values = `${rounded(subject)} against ${rounded(reference)} ${sides.unit}`
    sides.say(`round ${round + 1} of ${sides.rounds}: ${values}, ratio ${ratio}`)
    return { subject, reference }
  }
  const first = await measure(0)
  const others: { subject: number; reference: number }[] = []
  for (let round = 1; round < sides.rounds; round++) others.push(await measure(round))
  return [first, ...others]
}
