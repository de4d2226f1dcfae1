import * as React from 'react';

/** The time in seconds since 1970, renewed each second while the page can be seen. */
export function useNow(): number {
  const [now, setNow] = React.useState(() => Date.now() / 1000);
  React.useEffect(() => {
    const timer = window.setInterval(() => {
      if (document.visibilityState !== 'hidden') {
        setNow(Date.now() / 1000);
      }
    }, 1000);
    return () => window.clearInterval(timer);
  }, []);
  return now;
}
