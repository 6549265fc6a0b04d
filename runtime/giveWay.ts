// Lets long work of this process share its event loop: beside other work it gets a part of the time, alone all of it.
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { MEBIBYTE } from '../rules/limits.ts'
import { collectLater } from './collect.ts'

/** Work on so many bytes does not rest: mail with files, and an invoice for each customer, is as fast as its pieces. */
const LONG_BYTES = 8 * MEBIBYTE
/** Others that take less of a turn do not wait for us. */
const OTHERS_MS = 1
/** The longest rest after one piece, which the kernel may have interrupted for longer than it worked. */
const REST_MS_MAX = 100

/** How time passes. A test has its own. */
interface Time {
  /** ms */
  now: () => number
  /** Resolves when the event loop has run once. */
  turn: () => Promise<unknown>
  pause: (ms: number) => Promise<unknown>
}

/** What ends a piece. */
interface Piece {
  /** How long it worked. */
  took_ms: number
  /** Of the whole work, as far as they are known; up to 8 MiB it never rests. */
  bytes: number
  /** The part of the time that such work may have while the loop, or the processor, is wanted by others. */
  part: number
}

interface GivingWay {
  giveWay(piece: Piece): Promise<void>
  /** From now on no long work rests: others wait until it is done. @returns ends that */
  hurry(): () => void
}

/**
 * Makes `giveWay`, which ends a piece of long work, such as a slice of a body of 40 MB. It lets the event loop run once. When
 * that takes long, others want the loop or the processor, and the next piece waits until the part is kept. The rests of all
 * long work follow each other, so that many at a time get no more than one.
 */
export function createGiveWay({ now, turn, pause }: Time): GivingWay {
  /** What all pieces took so far. */
  let worked_ms = 0
  /** Until when the rests go on that were given so far, ms of the clock. */
  let restsUntil = 0
  /** Who waits for long work to be done. */
  let waiting = 0

  async function giveWay({ took_ms, bytes, part }: Piece): Promise<void> {
    const ended = now()
    worked_ms += took_ms
    const workedThen_ms = worked_ms
    await turn()
    const turned = now()
    // Other long work in the same turn is nobody who waits for us.
    const others_ms = turned - ended - (worked_ms - workedThen_ms)
    if (others_ms < OTHERS_MS || waiting > 0 || bytes <= LONG_BYTES) return
    const rest_ms = Math.min(took_ms * (1 / part - 1), REST_MS_MAX)
    // The piece itself may have been in the rest of another one.
    restsUntil = Math.max(restsUntil, turned - took_ms) + took_ms + rest_ms
    await pause(restsUntil - turned)
  }

  return {
    giveWay,
    hurry() {
      waiting += 1
      return () => {
        waiting -= 1
      }
    },
  }
}

/** That of this process: all of its long work shares one part. */
const ofProcess = createGiveWay({ now: () => performance.now(), turn, pause })
export const { hurry } = ofProcess

/** Ends a piece of long work of this process. */
export function giveWay(piece: Piece): Promise<void> {
  if (piece.bytes > LONG_BYTES) collectLater()
  return ofProcess.giveWay(piece)
}
