// How a lane walks the lines of waiting mail, from claim to claim.
import type { LinePlace, LineWalk, ShardRange, Walked } from '../../db/deliveries/lines.ts'
import { classWeights, mailClasses } from '../../rules/mail/classes.ts'

/** Deliveries of a workspace in its turn, while others wait for theirs. */
const TURN = 20
/** Deliveries of one of its lines in its turn, while others have mail: at first, and the least. */
const PER_LINE = 20
const PER_LINE_MIN = 4
/**
 * The most workspaces of a class that go on where their last turn ended; the others begin with their first line. Who has a
 * place keeps it: if the oldest were forgotten, none of very many would come to its second line.
 */
const PLACES_MAX = 500
/**
 * Of so many of its places the classes keep their shares: a few fall out where several lines share the room of a
 * destination, and to look for all places in each class for them makes the walk three times as long. The same holds where a
 * class has come to its last workspace with less than its share: the next claim goes on at the first one.
 */
const CROWDED_SHARE = 0.75
/** After so many claims in a row that found nothing the lane rests, although a walk over many full lines is not over. */
const BARREN_MAX = 10

/** What a claim looks for in each class. */
interface Shares {
  /** The classes that keep to their shares; all others look for all places. */
  crowded: readonly number[]
  /** How many times their shares they look for. */
  times: number
}

/** The way of a lane through one class. */
interface Lap {
  /** The next claim begins after this workspace. */
  after: string
  /** Whether this lap has found something that is due, or ended a turn before the last line of a workspace. */
  found: boolean
  /** Whose turn it was in this lap. */
  seen: Set<string>
  places: Map<string, LinePlace>
}

/**
 * Workspaces take turns, so that none waits for what another has queued; within its turn a workspace goes on with the line
 * after its last one. If places stay free, turns and the shares of lines are doubled for the next claim; if they do not,
 * they are halved. A workspace with many lines and no neighbour gets to each of them sooner by small shares.
 *
 * Where only one workspace has mail, of one class, its turn leaves one place free. So the walk goes on behind it, and gives that
 * place to whoever comes; else it would end there, and the next claim find nothing behind it.
 */
export function createLines(shards: ShardRange) {
  let turn = TURN
  let perLine = PER_LINE
  let barren = 0
  let shares: Shares = { crowded: [], times: 1 }
  /** Whether the last claim has found mail of one workspace and class alone. */
  let alone = false
  const laps: Lap[] = mailClasses.map(() => ({
    after: '',
    found: false,
    seen: new Set(),
    places: new Map(),
  }))

  return {
    /** What the next claim of up to `limit` deliveries asks of the lines. */
    next: (limit: number): LineWalk => ({
      shards,
      turn: Math.min(turn, turnMax(limit, alone)),
      perLine: Math.min(perLine, limit),
      most: shareOut(limit, shares),
      after: laps.map(({ after }) => after),
      places: laps.map(({ places }) => places),
    }),
    /** Learns what became of a claim that took `due`. @returns whether another claim would find more */
    learn(walked: readonly Walked[], due: number, limit: number): boolean {
      const { hasMore, ...went } = goOnAll(laps, walked, due > 0, {
        crowded: shares.crowded,
        shares: shareOut(limit, { ...shares, times: 1 }),
      })
      let more = hasMore
      barren = due > 0 ? 0 : barren + 1
      if (barren >= BARREN_MAX) {
        barren = 0
        more = false
      }
      shares = nextShares(shares, went, due, limit)
      const turnsOf = walked.flatMap(({ turns }) => turns)
      const full = due >= turnMax(limit, alone)
      alone = turnsOf.length === 1
      if (full) {
        const lines = walked.reduce((sum, { lines }) => sum + lines, 0)
        // If only one had mail, no other needs a part of its share.
        if (turnsOf.length > 1) {
          turn = Math.max(TURN, Math.floor(turn / 2))
          perLine = turn
        } else if (lines > 1) perLine = Math.max(PER_LINE_MIN, Math.floor(perLine / 2))
      } else if (walked.some(({ cut }) => cut)) {
        turn = Math.min(turn * 2, Math.max(limit, TURN))
        perLine = Math.min(perLine * 2, Math.max(limit, PER_LINE))
      } else {
        turn = TURN
        perLine = PER_LINE
      }
      return more
    },
  }
}

/** Takes the laps on by a claim, which asked for these shares. */
function goOnAll(
  laps: readonly Lap[],
  walked: readonly Walked[],
  isClaimed: boolean,
  { crowded, shares }: { crowded: readonly number[]; shares: readonly number[] },
) {
  let hasMore = false
  /** The classes that go on with their share, and what those among them lack whose lap ended before they had it. */
  const goingOn: number[] = []
  let lacking = 0
  for (const one of walked) {
    const lap = laps[one.class]
    if (!lap) continue
    // A lap that began in an earlier claim, and has found something, may find more from the first workspace on.
    const wasUnderWay = crowded.includes(one.class) && lap.after !== ''
    const mayFind = goOn(lap, one, isClaimed)
    hasMore ||= mayFind
    const hasEnded = one.after === ''
    const beginsNext = hasEnded && wasUnderWay && mayFind
    // A walk may take more than its share, by a step.
    if (beginsNext) lacking += Math.max(0, (shares[one.class] ?? 0) - one.taken)
    if (!hasEnded || beginsNext) goingOn.push(one.class)
  }
  return { hasMore, goingOn, lacking }
}

/** Takes a lap on by a claim. @returns whether the next claim may find more */
function goOn(lap: Lap, { after, taken, turns }: Walked, isClaimed: boolean): boolean {
  let more = false
  for (const { workspace_id, place } of turns) {
    lap.seen.add(workspace_id)
    // It had begun behind its first line, where more may wait.
    if (!place) more = lap.places.delete(workspace_id) || more
    else if (lap.places.size < PLACES_MAX || lap.places.has(workspace_id)) {
      lap.places.set(workspace_id, place)
      lap.found = true
    }
  }
  // What others have locked was found and not claimed: the lane must not ask for it again and again.
  lap.found ||= taken > 0 && isClaimed
  more ||= after !== '' || lap.found
  if (after === '') {
    lap.found = false
    // Who has nothing left is not visited, and would keep its place from others for ever.
    for (const name of lap.places.keys()) if (!lap.seen.has(name)) lap.places.delete(name)
    lap.seen.clear()
  }
  lap.after = after
  return more
}

/**
 * The shares of the next claim. Classes keep to theirs that had more than they got, or begin their next lap, while almost all
 * places were filled. If places stayed free although none of them has come to its end, what was found shared the room of
 * destinations with other lines: then they look for as many times their shares as would have filled the claim, because
 * to look for all places in each class reads three times as much. A claim that is filled ends that: the next one tries the plain shares.
 */
function nextShares(
  { crowded, times }: Shares,
  { goingOn, lacking }: { goingOn: readonly number[]; lacking: number },
  due: number,
  limit: number,
): Shares {
  if (due + lacking >= limit * CROWDED_SHARE) return { crowded: goingOn, times: 1 }
  // Only what was looked for by shares says how many times of them would do.
  const allGoOn =
    crowded.length > 1 && lacking === 0 && crowded.every((one) => goingOn.includes(one))
  if (due === 0 || !allGoOn) return { crowded: [], times: 1 }
  return { crowded: goingOn, times: Math.min((times * limit) / due, limit) }
}

/** The most of one turn in a claim: a workspace that is alone leaves one place. */
const turnMax = (limit: number, alone: boolean) => (alone ? Math.max(1, limit - 1) : limit)

/** The most that a claim looks for in each class. What the others have is looked for in case these have too little. */
function shareOut(limit: number, { crowded, times }: Shares): number[] {
  const weights = crowded.reduce((sum, place) => sum + (classWeights[place] ?? 0), 0)
  if (crowded.length < 2) return classWeights.map(() => limit)
  return classWeights.map((weight, place) => {
    if (!crowded.includes(place)) return limit
    return Math.min(limit, Math.ceil((limit * weight * times) / weights))
  })
}
