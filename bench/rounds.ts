// Interleaved rounds: subject, reference, subject, reference ... so that changes of the machine affect both sides.
import { rounded } from './report.ts'

export interface Sides {
  rounds: number
  /**
   * Turns of each side in a round, whose mean is the round's value. With more and shorter turns a slow moment
   * affects both sides.
   */
  turns?: number
  unit: string
  /** One turn of what is measured. */
  subject: () => Promise<number>
  /** One turn of the reference, right after it. */
  reference: () => Promise<number>
  say: (line: string) => void
}

export interface Pair {
  subject: number
  reference: number
}

/** Measures both sides in turn; @returns one pair for each round */
export async function interleave(sides: Sides): Promise<Pair[]> {
  const { rounds, turns = 1, unit, say } = sides
  const pairs: Pair[] = []
  for (let round = 1; round <= rounds; round++) {
    const pair: Pair = { subject: 0, reference: 0 }
    for (let turn = 0; turn < turns; turn++) {
      pair.subject += (await sides.subject()) / turns
      pair.reference += (await sides.reference()) / turns
    }
    const values = `${rounded(pair.subject)} against ${rounded(pair.reference)} ${unit}`
    say(`round ${round} of ${rounds}: ${values}, ratio ${rounded(pair.subject / pair.reference)}`)
    pairs.push(pair)
  }
  return pairs
}
