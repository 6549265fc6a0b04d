// What a customer may notice of another's attacks, and what the processes may need meanwhile.

export const isolationBars = {
  /** Delay of the event loop of API and worker, 99.9th percentile. */
  delay_ms: 100,
  /** Answers to emails and events, 99th percentile. */
  answer_ms: 250,
  /** From acceptance to delivery, the slowest mail. */
  delivered_ms: 2_000,
  /** Peak of the API's or worker's resident memory. */
  memory_mb: 700,
  /** What is resident after a rest, over what was before. */
  grown_mb: 60,
  /** Templates of 2 KB, on two cores. */
  cheap_per_second: 20_000,
  guarded_per_second: 2_000,
} as const
