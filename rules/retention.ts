// How long what grows with traffic is kept: the settings of an operator, each with its default and its least value, in days.

/** Settings count in days. */
export const DAY_MS = 24 * 60 * 60 * 1000

/** `kept` is what the setting is about, as the end of "how long … are kept". */
interface Setting {
  days: number
  days_min: number
  kept: string
}

export const retentionSettings = {
  WEBHOOK_RETENTION_DAYS: {
    days: 30,
    // Longer than an endpoint is tried.
    days_min: 7,
    kept: 'deliveries of webhooks, and the bodies of their events, are kept; longer while one has still to be sent',
  },
  STATS_RETENTION_DAYS: {
    days: 400,
    days_min: 2,
    kept: 'the counts of statistics are kept, hour by hour',
  },
  ATTACHMENT_RETENTION_DAYS: {
    days: 30,
    days_min: 1,
    kept: 'attachments, and messages as they were submitted by SMTP, are kept once nobody waits for the mail any more',
  },
  ATTEMPT_RETENTION_DAYS: {
    days: 90,
    days_min: 7,
    kept: 'attempts are kept once their delivery has ended, with what the mail servers said',
  },
  VISITOR_RETENTION_DAYS: {
    days: 90,
    days_min: 1,
    kept: 'the IP address and the user agent of an open or a click are kept',
  },
  JOB_RETENTION_DAYS: {
    days: 90,
    days_min: 1,
    kept: 'jobs that are over, and the lines that they have not done, are kept',
  },
  HTTP_CALL_RETENTION_DAYS: {
    days: 30,
    days_min: 1,
    kept: 'answers to requests of nodes are kept once their execution has ended',
  },
  EXECUTION_RETENTION_DAYS: {
    days: 400,
    // A worker that was away may still ask for the result of a segment.
    days_min: 7,
    kept: 'the steps of an execution, and what it has waited for, are kept once it has ended',
  },
  COMPLAINT_RETENTION_DAYS: {
    days: 400,
    // A day more than a complaint is counted (`complaintCountedDays`), for clocks that differ.
    days_min: 366,
    kept: 'it is known of a recipient’s mail that they have complained about it, from its delivery on',
  },
  MESSAGE_ID_RETENTION_DAYS: {
    days: 400,
    // A report of a complaint may name it by nothing else, and counts as long (`complaintCountedDays`).
    days_min: 366,
    kept: 'mail that was submitted by SMTP is found by the `Message-ID` of its client, from its delivery on',
  },
  SUPPRESSION_RETENTION_DAYS: {
    days: 30,
    days_min: 1,
    kept: 'suppressions that have expired are kept',
  },
  SOFT_BOUNCE_RETENTION_DAYS: {
    days: 30,
    // Reports of bounces come some days late, and make such a day count again.
    days_min: 10,
    kept: 'soft bounces that a later delivery has cleared are kept, from that delivery on',
  },
  FORMER_TOKEN_RETENTION_DAYS: {
    days: 7,
    days_min: 1,
    kept: 'tokens that a key had before it was rotated are kept once they have expired',
  },
} as const satisfies Record<string, Setting>

export type RetentionSetting = keyof typeof retentionSettings

/** Days by setting. */
export type RetentionDays = Readonly<Record<RetentionSetting, number>>

export const retentionNames = Object.keys(retentionSettings) as RetentionSetting[]
