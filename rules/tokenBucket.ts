// A token bucket: so many requests at once, and so many more with each second.

export interface Bucket {
  tokens: number
  /** In ms: when they were counted. */
  at: number
}

/** Requests: `burst` at once, and `perSecond` more each second. */
export interface BucketSize {
  perSecond: number
  burst: number
}

/** A bucket that nobody has used. */
export const fullBucket = ({ burst }: BucketSize, now: number): Bucket => ({
  tokens: burst,
  at: now,
})

/** The bucket as it is now. A clock that was set back refills nothing. */
export function refilled(bucket: Bucket, { perSecond, burst }: BucketSize, now: number): Bucket {
  const passed_s = Math.max(0, now - bucket.at) / 1000
  return { tokens: Math.min(burst, bucket.tokens + passed_s * perSecond), at: now }
}

/** Whole seconds until the bucket holds so many tokens. */
export function secondsUntil(tokens: number, bucket: Bucket, { perSecond }: BucketSize): number {
  return Math.max(0, Math.ceil((tokens - bucket.tokens) / perSecond))
}
