type Next<T> = T | ((previous: T) => T);
export function useState<T>(initial: T | (() => T)): [T, (next: Next<T>) => void];
export function useRef<T>(initial: T): { current: T };
export function useEffect(effect: () => void | (() => void), keys?: any[]): void;
export function useLayoutEffect(effect: () => void | (() => void), keys?: any[]): void;
export function useMemo<T>(make: () => T, keys: any[]): T;
export function useCallback<T>(f: T, keys: any[]): T;
