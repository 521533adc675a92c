/**
 * What a record has under a name that somebody chose.
 *
 * @since 0.1.0
 */

/** Returns what a record itself has under a name: the name may be `constructor`, which each record inherits. */
export const own = <A>(record: Readonly<Record<string, A>> | undefined, name: string): A | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
