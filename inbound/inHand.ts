// Messages that are being taken: what has begun to be committed is answered before its entrance stops, all else is given up.
import { setTimeout as pause } from 'node:timers/promises'
import { SmtpRefusal } from './refusal.ts'

interface Message {
  /** Aborts with the reply. */
  giveUp: AbortController
  /** Resolves at its end; null: its commit has not begun. */
  begun: Promise<void> | null
}

/** A message while it is taken. */
export interface InHand {
  /** Aborted, with the reply to it, when it is not to be taken any more: its client has gone, or the entrance stops. */
  signal: AbortSignal
  /** From now on a stop waits for it. @throws the reply when it is not to be taken any more */
  begin(): void
  /** It was taken, or was not. */
  end(): void
}

const GONE = new SmtpRefusal(451, '4.4.2 The connection broke')

/**
 * Keeps the messages of an entrance, one of each session at a time. Whoever was told to send a message again sends it again, so none may be told
 * so whose commit goes on.
 * @param stopping the reply to what is not taken since the entrance stops
 */
export function createInHand(stopping: SmtpRefusal) {
  const messages = new Map<string, Message>()
  let isStopping = false
  const begun = () => [...messages.values()].flatMap((message) => message.begun ?? [])
  const ended = async (most_ms: number) =>
    void (await Promise.race([Promise.all(begun()), pause(most_ms, undefined, { ref: false })]))

  return {
    /** The reply to a new message; null: it may come. */
    refusal: (): SmtpRefusal | null => (isStopping ? stopping : null),
    take(sessionId: string): InHand {
      const giveUp = new AbortController()
      const { signal } = giveUp
      if (isStopping) giveUp.abort(stopping)
      const message: Message = { giveUp, begun: null }
      messages.set(sessionId, message)
      let tellEnd = () => {}
      return {
        signal,
        begin() {
          signal.throwIfAborted()
          message.begun = new Promise((resolve) => {
            tellEnd = resolve
          })
        },
        end() {
          messages.delete(sessionId)
          tellEnd()
        },
      }
    },
    /** Nobody hears the reply any more. */
    onClose(sessionId: string): void {
      messages.get(sessionId)?.giveUp.abort(GONE)
    },
    /**
     * No message begins any more. Resolves when those that have begun are over.
     * @param most_ms what takes longer is given up, @param undo_ms and no longer waited for after this time
     */
    async stop(most_ms: number, undo_ms: number): Promise<void> {
      isStopping = true
      for (const { giveUp, begun } of messages.values()) if (!begun) giveUp.abort(stopping)
      await ended(most_ms)
      for (const { giveUp } of messages.values()) giveUp.abort(stopping)
      await ended(undo_ms)
    },
  }
}
